"""The fence: read the list of sessions, ask them, answer for ourselves."""

from __future__ import annotations

import pytest

from controller.errors import AnotherController, StartRefused
from controller.fence import ALIVE_TAG, NONCE_TAG, Fence, Sessions, parse_sessions
from shared.irc_client import Reply
from shared.ircv3.message import Message, parse

_ALONE = ("Nickname controller has 1 attached clients(s)", "Client 3 (currently attached client):")
_TWO = ("Client 3:", "IP address:   127.0.0.1", "Client 4 (currently attached client):")


class Server:
    """Answers NickServ with the given lines and keeps what it was told."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self.lines = lines
        self.heard: list[Message] = []

    async def request(self, message: Message) -> Reply:
        self.heard.append(message)
        if message.params[:2] == ("CLIENTS", "LIST"):
            return Reply(tuple(Message("NOTICE", ("controller", line)) for line in self.lines))
        return Reply(())


@pytest.mark.parametrize(
    ("lines", "sessions"),
    [
        pytest.param(_ALONE, Sessions(3, ()), id="alone"),
        pytest.param(_TWO, Sessions(4, (3,)), id="two"),
        pytest.param(("No such nick",), None, id="refused"),
    ],
)
def test_the_list_of_sessions_is_read(lines: tuple[str, ...], sessions: Sessions | None) -> None:
    assert parse_sessions(lines) == sessions


async def test_a_single_session_goes_on_at_once() -> None:
    server = Server(_ALONE)
    await Fence(server.request, "controller", "n1").claim(answer_seconds=0.02)
    assert server.heard == [Message("NS", ("CLIENTS", "LIST"))]


async def test_a_silent_session_is_logged_out() -> None:
    server = Server(_TWO)
    await Fence(server.request, "controller", "n1").claim(answer_seconds=0.02)
    assert server.heard == [
        Message("NS", ("CLIENTS", "LIST")),
        Message("TAGMSG", ("controller",), {NONCE_TAG: "n1"}),
        Message("NS", ("CLIENTS", "LOGOUT", "3")),
    ]


@pytest.mark.parametrize(
    ("answer", "stays"),
    [
        pytest.param("n1.3", False, id="an older one answers"),
        pytest.param("n1.7", True, id="a younger one does not count"),
        pytest.param("n2.3", True, id="an answer to somebody else"),
    ],
)
async def test_only_an_older_live_session_sends_us_away(answer: str, *, stays: bool) -> None:
    class Answering(Server):
        async def request(self, message: Message) -> Reply:
            if message.command == "TAGMSG":
                fence.feed(Message("TAGMSG", ("controller",), {ALIVE_TAG: answer}))
            return await super().request(message)

    fence = Fence(Answering(_TWO).request, "controller", "n1")
    if stays:
        await fence.claim(answer_seconds=0.02)
        return
    with pytest.raises(AnotherController, match="answers; it goes on working"):
        await fence.claim(answer_seconds=0.02)


async def test_we_answer_the_nonce_of_another_and_not_our_own() -> None:
    fence = Fence(Server(_ALONE).request, "controller", "n1")
    asked = parse(f"@account=controller;{NONCE_TAG}=n2 :controller!u@h TAGMSG controller")
    assert fence.feed(asked) is None  # before we know our number
    await fence.claim(answer_seconds=0.02)
    assert fence.feed(asked) == Message("TAGMSG", ("controller",), {ALIVE_TAG: "n2.3"})
    assert fence.feed(Message("TAGMSG", ("controller",), {NONCE_TAG: "n1"})) is None


async def test_a_server_that_lists_nothing_is_refused() -> None:
    with pytest.raises(StartRefused, match="NS CLIENTS LIST"):
        await Fence(Server(()).request, "controller", "n1").claim(answer_seconds=0.02)
