"""Settings: read from the environment alone, refused in one line each, secrets never quoted."""

from __future__ import annotations

import pytest

from controller.errors import SettingsError
from controller.settings import Settings, load_settings, worker_surroundings


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def test_every_setting_is_described() -> None:
    assert [n for n, field in Settings.model_fields.items() if not field.description] == []


def test_names_are_split_at_commas_and_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAINTAINERS", "you, alice bob,,carol")
    assert load_settings().maintainers == ("you", "alice", "bob", "carol")


@pytest.mark.parametrize(
    ("model", "key", "chosen"),
    [
        pytest.param("", "", "rehearsal", id="no key rehearses"),
        pytest.param("", "k", "anthropic", id="a key is used"),
        pytest.param("rehearsal", "k", "rehearsal", id="MODEL decides"),
    ],
)
def test_the_model_follows_the_key_unless_set(
    monkeypatch: pytest.MonkeyPatch, model: str, key: str, chosen: str
) -> None:
    monkeypatch.setenv("MODEL", model)
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    assert load_settings().agent_model == chosen


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("IRC_PORT", "abc", "IRC_PORT=abc: Input should be a valid integer"),
        ("SANDBOX", "maybe", "SANDBOX=maybe: Input should be 'auto' or 'none'"),
        ("MODEL", "anthropic", "MODEL=anthropic needs ANTHROPIC_API_KEY"),
        ("SWEEP_SECONDS", "0", "SWEEP_SECONDS=0: Input should be greater than 0"),
    ],
)
def test_a_bad_value_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, line: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refusal:
        load_settings()
    assert str(refusal.value).startswith(line)
    assert "\n" not in str(refusal.value)


def test_secrets_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRC_SASL_PASSWORD", "hush-hush")
    assert "hush-hush" not in repr(load_settings())


def test_a_worker_keeps_the_path_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "hush-hush")
    kept = worker_surroundings()
    assert kept["PATH"] == "/bin"
    assert "hush-hush" not in kept.values()
