from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.redaction import Redactor

PASSWORD = 'pa"ss/wörd+42'


@pytest.mark.parametrize(
    "form",
    [
        PASSWORD,
        quote(PASSWORD, safe=""),
        json.dumps(PASSWORD),
        PASSWORD.encode().hex(),
        *(
            base64.b64encode(b"user:"[:n] + PASSWORD.encode() + b":x"[:n]).decode()
            for n in range(6)
        ),
    ],
)
def test_a_known_secret_is_masked_in_its_usual_forms(form: str) -> None:
    text = Redactor([PASSWORD]).redact(f"before {form} after")
    assert "[secret]" in text
    assert text.startswith("before ")
    assert text.endswith(" after")
    assert len(text) <= len("before [secret] after") + 14


def test_the_longer_of_two_secrets_is_masked_whole() -> None:
    assert Redactor(["abcdef", "abcdefghi"]).redact("abcdefghi abcdef") == "[secret] [secret]"


@pytest.mark.parametrize("secret", ["", "  ", "short"])
def test_what_is_too_short_to_be_a_secret_masks_nothing(secret: str) -> None:
    assert Redactor([secret]).redact("a short text") == "a short text"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("key=sk-ant-api03-" + "a1B2" * 10, "key=[secret]"),
        ("ghp_" + "a" * 36, "[secret]"),
        ("github_pat_" + "a" * 60, "[secret]"),
        ("glpat-" + "a" * 20, "[secret]"),
        ("xoxb-1234567890-abc", "[secret]"),
        ("AKIA" + "ABCD" * 4, "[secret]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijkl", "[secret]"),
        ("git clone https://me:hunter2hunter2@example.org/x", None),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [secret]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nx",
            "-----BEGIN RSA PRIVATE KEY-----[secret]-----END RSA PRIVATE KEY-----\nx",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMII", "-----BEGIN PRIVATE KEY-----[secret]"),
    ],
)
def test_what_looks_like_a_token_is_masked(text: str, masked: str | None) -> None:
    wanted = masked or "git clone https://me:[secret]@example.org/x"
    assert Redactor([]).redact(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "task-sk-anything, a desk-lamp and risk-" + "averse" * 5,
        "https://example.org:8080/a@b",
        "postgres://user:pass@db/x redis://u:${REDIS_PASSWORD}@db",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "mailto:me@example.org",
        "authorization: see below",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor(["some other secret"]).redact(text) == text


@given(st.text(), st.text(min_size=6, alphabet="abcdef0123456789"), st.text())
def test_no_known_secret_gets_through(before: str, secret: str, after: str) -> None:
    text = Redactor([secret]).redact(before + secret + after)
    assert secret not in text.replace("[secret]", "\0")
