from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING

import pytest

from controller.ops import accounts
from controller.ops.oper_session import OperError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.ergo_server import ErgoServer


def _reserved(name: str) -> bool:
    return name.lower() in {"controller", "hal-9000"} or name.lower().startswith("agent-")


@pytest.fixture
def env(ergo: ErgoServer) -> Mapping[str, str]:
    return {
        "IRC_HOST": ergo.host,
        "IRC_PORT": str(ergo.port),
        "IRC_OPER_PASSWORD": ergo.oper_password,
    }


async def _login(server: ErgoServer, account: str, password: str) -> str:
    """The numeric by which the server answers a SASL PLAIN login."""
    reader, writer = await asyncio.open_connection(server.host, server.port)
    secret = base64.b64encode(f"\0{account}\0{password}".encode()).decode()
    writer.write(
        f"CAP REQ :sasl\r\nNICK {account}\r\nUSER a 0 * :a\r\n"
        f"AUTHENTICATE PLAIN\r\nAUTHENTICATE {secret}\r\n".encode()
    )
    numeric = ""
    while numeric not in {"903", "904"}:
        line = (await reader.readline()).decode()
        assert line
        numeric = line.split()[1]
    writer.close()
    await writer.wait_closed()
    return numeric


async def test_an_added_account_can_log_in(
    ergo: ErgoServer, env: Mapping[str, str], unique: str
) -> None:
    answer = await accounts.run("add", unique, env, _reserved)

    [password] = answer.lines
    assert await _login(ergo, unique, password) == "903"
    assert password not in answer.remark


async def test_adding_twice_is_refused_with_the_way_out(
    env: Mapping[str, str], unique: str
) -> None:
    await accounts.run("add", unique, env, _reserved)

    with pytest.raises(OperError, match=f"account reset {unique}"):
        await accounts.run("add", unique, env, _reserved)


async def test_a_reset_replaces_the_password(
    ergo: ErgoServer, env: Mapping[str, str], unique: str
) -> None:
    [old] = (await accounts.run("add", unique, env, _reserved)).lines
    [new] = (await accounts.run("reset", unique, env, _reserved)).lines

    assert await _login(ergo, unique, new) == "903"
    assert await _login(ergo, unique, old) == "904"


async def test_a_removed_name_is_free_again(env: Mapping[str, str], unique: str) -> None:
    await accounts.run("add", unique, env, _reserved)
    await accounts.run("remove", unique, env, _reserved)

    assert unique not in (await accounts.run("list", "", env, _reserved)).lines
    await accounts.run("add", unique, env, _reserved)


async def test_the_list_names_people_and_counts_agents(
    ergo: ErgoServer, env: Mapping[str, str], unique: str
) -> None:
    await ergo.add_account(f"agent-{unique}")
    await accounts.run("add", unique, env, _reserved)

    answer = await accounts.run("list", "", env, _reserved)

    assert unique in answer.lines
    assert f"agent-{unique}" not in answer.lines


@pytest.mark.parametrize("action", ["reset", "remove"])
async def test_an_unknown_account_is_named(
    env: Mapping[str, str], unique: str, action: str
) -> None:
    with pytest.raises(OperError, match=rf"{unique} .*: Account does not exist"):
        await accounts.run(action, unique, env, _reserved)


@pytest.mark.parametrize("action", ["add", "reset", "remove"])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("HAL-9000", "is reserved", id="a pool name"),
        pytest.param("agent-7", "is reserved", id="a numbered agent"),
        pytest.param("controller", "is reserved", id="the controller"),
        pytest.param("two words", "is no account name", id="a space"),
        pytest.param("-dash", "is no account name", id="a leading dash"),
        pytest.param("x" * 33, "is no account name", id="too long"),
        pytest.param("a\r\nQUIT", "is no account name", id="a second line"),
    ],
)
async def test_names_that_are_not_for_people_are_refused(
    env: Mapping[str, str], action: str, name: str, why: str
) -> None:
    with pytest.raises(OperError, match=why):
        await accounts.run(action, name, env, _reserved)


async def test_a_wrong_oper_password_is_one_clear_line(env: Mapping[str, str]) -> None:
    with pytest.raises(OperError, match=r"refuses OPER controller: .*check IRC_OPER_PASSWORD"):
        await accounts.run("list", "", {**env, "IRC_OPER_PASSWORD": "wrong"}, _reserved)


async def test_a_server_that_is_away_is_one_clear_line(
    env: Mapping[str, str],
) -> None:
    with pytest.raises(OperError, match=r"no IRC server answers on 127\.0\.0\.1:1 "):
        await accounts.run("list", "", {**env, "IRC_PORT": "1"}, _reserved)


async def test_the_home_alone_leads_to_its_server(ergo: ErgoServer) -> None:
    ergo.home.credentials_file.write_text(
        f'{{"controller": "a", "oper": "{ergo.oper_password}", "you": "b"}}'
    )

    address = accounts.address_from({"ERGONAUT_HOME": str(ergo.home.root), "IRC_PORT": "1"})

    assert address == ergo.address


def test_the_password_stands_alone_on_standard_output(
    ergo: ErgoServer, env: Mapping[str, str], unique: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert accounts.main(["add", unique], env, _reserved) == 0

    captured = capsys.readouterr()
    [password] = captured.out.splitlines()
    assert asyncio.run(_login(ergo, unique, password)) == "903"
    assert unique in captured.err


def test_a_refusal_is_one_line_and_no_output(
    env: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert accounts.main(["add", "HAL-9000"], env, _reserved) == 1

    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
