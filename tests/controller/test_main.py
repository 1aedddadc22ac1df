"""The command line: what is expected to go wrong is one line and a code, never a traceback."""

from __future__ import annotations

import pytest

from controller.__main__ import main
from controller.settings import Settings


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("env", "lines"),
    [
        pytest.param(
            {},
            "IRC_SASL_PASSWORD is not set; the controller cannot log in\n"
            "IRC_OPER_PASSWORD is not set; the controller cannot log in\n",
            id="no passwords",
        ),
        pytest.param(
            {"IRC_PORT": "0"},
            "IRC_PORT=0: Input should be greater than or equal to 1\n",
            id="port",
        ),
        pytest.param(
            {"MODEL": "anthropic"},
            "MODEL=anthropic needs ANTHROPIC_API_KEY; "
            "set it, or MODEL=rehearsal to try without one\n",
            id="no key",
        ),
    ],
)
def test_a_bad_setting_is_told_line_by_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    env: dict[str, str],
    lines: str,
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert main(["run"]) == 2
    assert capsys.readouterr().err == lines


@pytest.mark.parametrize("words", [[], ["dance"], ["run", "fast"], ["account"]])
def test_a_wrong_command_line_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert "usage: agent-controller" in capsys.readouterr().err


def test_account_has_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["account", "--help"])
    assert left.value.code == 0
    assert "agent-controller account" in capsys.readouterr().out
