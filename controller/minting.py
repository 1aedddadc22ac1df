"""Accounts of workers: a fresh password for each attempt, and no session of an earlier one.

The password is derived, so a start that is repeated gives the same one (design 3).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable

from controller.effects import MintAccount
from controller.refusals import require, says
from shared.irc_client import Reply
from shared.ircv3.message import Message

_EXISTS = ("Account already exists", "Name reserved")


class NameTaken(Exception):
    """The account exists and is not one of ours."""


def worker_password(secret: str, account: str, task: int, attempt: int) -> str:
    """HMAC-SHA256 over `account|N|attempt`, in hex."""
    text = f"{account}|{task}|{attempt}"
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()


async def mint(
    request: Callable[[Message], Awaitable[Reply]], effect: MintAccount, secret: str
) -> None:
    """Raises NameTaken, or Refused."""
    account = effect.account
    password = worker_password(secret, account, effect.task, effect.attempt)
    made = await request(Message("NS", ("SAREGISTER", account, password)))
    if says(made, *_EXISTS):
        if not effect.listed:
            raise NameTaken(account)
        changed = await request(Message("NS", ("PASSWD", account, password)))
        require(changed, f"NS PASSWD {account}", "Password changed")
    else:
        require(made, f"NS SAREGISTER {account}", "Successfully registered")
    await request(Message("NS", ("CLIENTS", "LOGOUT", account, "all")))
