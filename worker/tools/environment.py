"""The environment that tools run in: an allow-list, never the worker's own (pure).

Secrets stay out because nothing gets in by default. Nobody sits at a terminal, so whatever would
open an editor or a pager, or ask for a password, is set to fail or to go on at once. `false`, not
`true`, as the editor: `true` would silently accept a rebase plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

MARKER = "ERGONAUT_TOOL_HOST"
"""Names the host in the environment of all it starts: what is left of a killed one is found."""

_KEPT = frozenset(
    {
        "PATH", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
        "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
        "GIT_ALLOW_PROTOCOL",
    }
)  # fmt: skip
_FIXED = {
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "TERM": "dumb",
    "SSH_ASKPASS": "false",
    "SUDO_ASKPASS": "false",
    "SHELL": "/bin/bash",
}
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What of the worker's environment tools get, and what is set for them besides."""
    kept = {
        name: value for name, value in environ.items() if name in _KEPT or name.startswith("LC_")
    }
    return {"PATH": _DEFAULT_PATH, **kept, **_FIXED}


def scratch_folder(marker: str) -> Path:
    """Where the host with this mark keeps its home, temporary files and long output."""
    return Path("/tmp") / f"ergonaut-{marker}"
