"""`agent-controller account add|reset|list|remove`: people's accounts, made by who runs the server.

The password alone goes to standard output, everything else to standard error, so that scripts can
take it. Names that the controller gives to its workers are refused: they have no role.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controller.errors import ControllerError
from controller.home import Home, home_from, new_password
from controller.ops.oper_session import OperAddress, OperError, OperSession, oper_session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_NAME = re.compile(r"[A-Za-z0-9_\[\]\\`^{}|][A-Za-z0-9_\[\]\\`^{}|-]{0,31}")
_CODE = re.compile(r"/NS ERASE \S+ (\S+)")
_EXISTS = ("Account already exists", "Name reserved")


@dataclass(frozen=True)
class Answer:
    """What a person or script gets to see."""

    lines: tuple[str, ...] = ()
    """For standard output."""
    remark: str = ""
    """For standard error."""


@dataclass(frozen=True)
class AccountDesk:
    """The four actions over one operator session."""

    session: OperSession
    reserved: Callable[[str], bool]
    """Whether a name belongs to the controller and its workers."""

    async def add(self, name: str) -> Answer:
        """Make an account that does not exist yet."""
        password = new_password()
        replies = await self._ask(name, "SAREGISTER", password)
        if _any_starts(replies, _EXISTS):
            raise OperError(
                f"the account {name} exists; `account reset {name}` gives it a new password"
            )
        _require(replies, "Successfully registered", f"the server did not make {name}")
        return Answer((password,), f"account {name} made; its password is shown this once")

    async def reset(self, name: str) -> Answer:
        """Give an account a new password; sessions that are logged in stay."""
        password = new_password()
        replies = await self._ask(name, "PASSWD", password)
        _require(replies, "Password changed", f"{name} keeps its password")
        return Answer((password,), f"{name} has a new password; it is shown this once")

    async def remove(self, name: str) -> Answer:
        """Delete the account and end its sessions; the name is free again."""
        self._check(name)
        # ERASE reports success for names that never were.
        if name.lower() not in map(str.lower, await self._names()):
            raise OperError(f"{name} was not removed: Account does not exist")
        replies = await self._ask(name, "ERASE")
        codes = [found[1] for line in replies if (found := _CODE.search(line))]
        if codes:  # asked for once more, to be sure
            replies = await self._ask(name, "ERASE", codes[0])
        _require(replies, "Successfully unregistered", f"{name} was not removed")
        return Answer(remark=f"account {name} removed")

    async def everyone(self) -> Answer:
        """The accounts of people, one name a line."""
        names = await self._names()
        people = tuple(sorted(name for name in names if not self.reserved(name)))
        return Answer(people, f"{len(people)} people, and {len(names) - len(people)} of our own")

    async def _names(self) -> list[str]:
        replies = await self.session.nickserv("LIST")
        _require(replies, "*** ", "the server does not list its accounts")
        return [line.strip() for line in replies if line.startswith("    ")]

    async def _ask(self, name: str, verb: str, *words: str) -> tuple[str, ...]:
        self._check(name)
        return await self.session.nickserv(verb, name, *words)

    def _check(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise OperError(
                f"{name!r} is no account name: letters, digits, - and _, at most 32 characters"
            )
        if self.reserved(name):
            raise OperError(f"{name} is reserved for the controller and its agents")


async def set_password(session: OperSession, account: str, password: str) -> None:
    """Make the account, or give it this password where it exists; for accounts of our own."""
    replies = await session.nickserv("SAREGISTER", account, password)
    if _any_starts(replies, _EXISTS):
        replies = await session.nickserv("PASSWD", account, password)
    _require(replies, ("Successfully registered", "Password changed"), f"no account {account}")


def _any_starts(replies: Sequence[str], beginnings: str | tuple[str, ...]) -> bool:
    return any(line.startswith(beginnings) for line in replies)


def _require(replies: Sequence[str], good: str | tuple[str, ...], otherwise: str) -> None:
    if _any_starts(replies, good):
        return
    if _any_starts(replies, ("Command restricted", "Insufficient")):
        raise OperError("the oper block lacks the right `accreg`; add it to its oper-class")
    raise OperError(f"{otherwise}: {replies[-1].strip() if replies else 'no answer from NickServ'}")


def address_from(env: Mapping[str, str]) -> OperAddress:
    """The server that IRC_OPER_PASSWORD is for, else the one of the local home."""
    home = home_from(env)
    oper_password = env.get("IRC_OPER_PASSWORD")
    if not oper_password:
        return OperAddress("127.0.0.1", _local_port(home, env), home.credentials().oper)
    return OperAddress(
        host=env.get("IRC_HOST") or "127.0.0.1",
        port=_port(env),
        oper_password=oper_password,
        tls=(env.get("IRC_TLS") or "").lower() in {"1", "true", "yes", "on"},
    )


def _local_port(home: Home, env: Mapping[str, str]) -> int:
    return home.last_port() or _port(env)


def _port(env: Mapping[str, str]) -> int:
    value = env.get("IRC_PORT") or "6667"
    if not value.isdigit():
        raise OperError(f"IRC_PORT={value} is no port number")
    return int(value)


async def run(
    action: str, name: str, env: Mapping[str, str], reserved: Callable[[str], bool]
) -> Answer:
    """Carry one action out on the server that the environment names."""
    async with oper_session(address_from(env)) as session:
        desk = AccountDesk(session, reserved)
        match action:
            case "add":
                return await desk.add(name)
            case "reset":
                return await desk.reset(name)
            case "remove":
                return await desk.remove(name)
            case _:
                return await desk.everyone()


def main(argv: Sequence[str], env: Mapping[str, str], reserved: Callable[[str], bool]) -> int:
    """Exit code 0 when done, 1 with one line when not, 2 for a wrong command line."""
    args = _parser().parse_args(argv)
    try:
        answer = asyncio.run(run(args.action, getattr(args, "name", ""), env, reserved))
    except ControllerError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write("".join(f"{line}\n" for line in answer.lines))
    sys.stdout.flush()
    sys.stderr.write(f"{answer.remark}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agent-controller account",
        description="Accounts of people, on the server of ERGONAUT_HOME or of IRC_HOST.",
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="add|reset|list|remove")
    for action, summary in (
        ("add", "make an account and print its password, this once"),
        ("reset", "print a new password for an account"),
        ("remove", "delete an account; its name is free again"),
    ):
        actions.add_parser(action, help=summary).add_argument("name")
    actions.add_parser("list", help="names of people's accounts, one a line")
    return parser
