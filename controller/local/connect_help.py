"""What `make run` tells a person: how to get in with the common clients."""

from __future__ import annotations


def connect_help(host: str, port: int, account: str, password: str) -> str:
    """Lines to paste into weechat and irssi, fields to fill in for The Lounge."""
    return f"""\
Your account is {account}, its password {password} (a maintainer: every command is allowed).

WeeChat:
  /server add ergonaut {host}/{port} -notls -nicks={account} -autojoin=#tasks
  /set irc.server.ergonaut.sasl_username {account}
  /set irc.server.ergonaut.sasl_password {password}
  /connect ergonaut

irssi:
  /network add -nick {account} ergonaut
  /network modify -sasl_mechanism PLAIN -sasl_username {account} ergonaut
  /network modify -sasl_password {password} ergonaut
  /server add -network ergonaut {host} {port}
  /channel add -auto #tasks ergonaut
  /connect ergonaut

The Lounge, or any other client:
  server {host}, port {port}, no TLS, nick {account}, SASL PLAIN as {account} with that password,
  or, where there is no SASL, the server password {account}:{password}; channel #tasks

Then say in #tasks:  !new <what you want done>   and   !help
"""
