"""Masks secrets in every text that leaves the worker's tools or goes to people (pure).

The second wall: tools cannot read the worker's secrets in the first place. Known values are
masked wherever they stand, also in their usual encodings; besides them what is a token by its
form, whoever it belongs to. The mask says that something was taken out, never how long it was.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

_MASK = "[secret]"
_MIN_LENGTH = 6
"""Shorter values would be found in ordinary words."""

_BEFORE = r"(?<![A-Za-z0-9_])"
_TOKENS = re.compile(
    "|".join(
        [
            _BEFORE + r"sk-[A-Za-z0-9_-]{20,}",
            _BEFORE + r"(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{36,})",
            _BEFORE + r"gl(?:pat|rt|dt|cbt|ptt)-[A-Za-z0-9_-]{20,}",
            _BEFORE + r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
            _BEFORE + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
            _BEFORE + r"AIza[A-Za-z0-9_-]{35}",
            _BEFORE + r"(?:hf|npm)_[A-Za-z0-9]{30,}",
            _BEFORE + r"pypi-[A-Za-z0-9_-]{50,}",
            _BEFORE + r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        ]
    )
)
_PRIVATE_KEY = re.compile(
    r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
# short ones and placeholders stay readable: examples are full of them, and edits must match
_URL_PASSWORD = re.compile(
    r"(?i)\b([a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,256}:)(?![$<{*\[])[^\s/@]{10,512}@"
)
_AUTHORIZATION = re.compile(r"(?i)(\bauthorization:\s*(?:bearer|basic|token)\s+)[^\s\"']+")


class Redactor:
    """Knows the secrets of one worker."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        # longest first, or a part would be masked and the rest left
        ordered = sorted(forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def redact(self, text: str) -> str:
        """The text with every secret masked; a text without one comes back as it is."""
        if self._known is not None:
            text = self._known.sub(_MASK, text)
        text = _TOKENS.sub(_MASK, text)
        text = _PRIVATE_KEY.sub(rf"\1{_MASK}\2", text)
        text = _URL_PASSWORD.sub(rf"\1{_MASK}@", text)
        return _AUTHORIZATION.sub(rf"\1{_MASK}", text)


def _forms(secret: str) -> Iterator[str]:
    """The value itself and how programs print it."""
    secret = secret.strip()
    if len(secret) < _MIN_LENGTH:
        return
    yield secret
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    data = secret.encode("utf-8", "surrogateescape")
    yield data.hex()
    for shift in range(3):
        # within a longer text base64 has three forms; the first and last signs mix with others
        encoded = base64.b64encode(b"\0" * shift + data).decode()
        inner = encoded[(0, 2, 3)[shift] :].rstrip("=")
        yield inner if (len(data) + shift) % 3 == 0 else inner[:-1]
