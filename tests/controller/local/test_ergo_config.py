from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from controller.errors import LocalError
from controller.local.ergo_command import ErgoCommand
from controller.local.ergo_config import CHANGES, ErgoSettings, render

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = ErgoSettings(
    oper_hash="$2a$04$hash", listeners=("127.0.0.1:7000",), trusted_networks=("10.42.0.0/16",)
)


@pytest.fixture(scope="session")
def default_config(ergo_binary: Path) -> str:
    return ErgoCommand(ergo_binary).default_config()


def _at(config: Any, path: str) -> Any:
    for key in path.split("."):
        config = config[key]
    return config


def test_every_change_of_the_table_stands_in_the_file(default_config: str) -> None:
    config = yaml.safe_load(render(default_config, SETTINGS))

    assert {change.path: _at(config, change.path) for change in CHANGES} == {
        change.path: change.value for change in CHANGES
    }


def test_every_change_says_why() -> None:
    assert [change.path for change in CHANGES if not change.why] == []


def test_the_settings_replace_listeners_and_operators_whole(default_config: str) -> None:
    config = yaml.safe_load(render(default_config, SETTINGS))

    assert config["server"]["listeners"] == {"127.0.0.1:7000": {}}
    assert config["opers"] == {
        "controller": {"class": "controller", "hidden": True, "password": "$2a$04$hash"}
    }
    assert config["server"]["ip-limits"]["exempted"] == ["localhost", "10.42.0.0/16"]


def test_what_we_do_not_change_is_ergo_s_default(default_config: str) -> None:
    before, after = yaml.safe_load(default_config), yaml.safe_load(render(default_config, SETTINGS))

    assert after["limits"] == before["limits"]
    assert after["accounts"]["nick-reservation"] == before["accounts"]["nick-reservation"]


def test_a_key_that_the_server_does_not_know_is_refused() -> None:
    with pytest.raises(LocalError, match=r"no network\.name; ergo 2\.18\.0 or newer"):
        render("server: {name: x}", SETTINGS)
