from __future__ import annotations

import base64
from pathlib import Path

import pytest

from shared.ircv3.message import Message, format_message, parse
from shared.ircv3.registration import (
    TRANSITIONS,
    Identity,
    Phase,
    Refusal,
    Registration,
    alternative_nick,
    sasl_plain,
)

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
WORKER = Identity("HAL-9000", "Ergonaut worker", "HAL-9000", "s3cret", bot=True)


def play(name: str, identity: Identity) -> Registration:
    """Feed the server's lines of a transcript; ours must come exactly where they stand."""
    registration = Registration(identity)
    sent = [format_message(message) for message in registration.start()]
    for number, line in enumerate((GOLDEN / name).read_text().splitlines(), 1):
        kind, text = line[:2], line[2:]
        if kind == "> ":
            assert sent, f"{name}:{number}: we said nothing instead of {text}"
            assert sent.pop(0) == text, f"{name}:{number}"
        elif kind == "< ":
            assert sent == [], f"{name}:{number}: said too early"
            feed(registration, sent, text)
    assert sent == []
    return registration


def feed(registration: Registration, sent: list[str], text: str) -> None:
    before, message = registration.phase, parse(text)
    sent.extend(map(format_message, registration.feed(message)))
    if registration.phase is not before:
        rows = [row for (phase, _), row in TRANSITIONS.items() if phase is before]
        assert any(registration.phase in row.leads_to for row in rows)


def test_a_worker_logs_in_by_sasl_and_marks_itself_a_bot() -> None:
    registration = play("registration-sasl.irc", WORKER)
    assert (registration.phase, registration.nick) == (Phase.READY, "HAL-9000")
    assert registration.caps["draft/multiline"] == "max-bytes=4096,max-lines=100"
    assert "draft/event-playback" not in registration.caps
    assert registration.isupport == {
        "BOT": "B",
        "CASEMAPPING": "ascii",
        "CHATHISTORY": "1000",
        "NETWORK": "Ex ample",
        "NICKLEN": "32",
        "WHOX": "",
    }


def test_several_ack_lines_are_counted_by_name() -> None:
    registration = play("registration-several-acks.irc", Identity("tail"))
    assert (registration.phase, len(registration.caps)) == (Phase.READY, 5)


def test_a_refused_request_is_repeated_name_by_name() -> None:
    registration = play("registration-nak.irc", Identity("tail"))
    assert sorted(registration.caps) == ["batch", "message-tags"]


def test_a_taken_nick_gives_way_to_the_next() -> None:
    registration = play("registration-nick-taken.irc", Identity("dashboard"))
    assert (registration.phase, registration.nick) == (Phase.READY, "dashboard")


def test_capabilities_come_and_go_after_registration() -> None:
    registration = play("registration-cap-new.irc", Identity("tail"))
    assert dict(registration.caps) == {"server-time": "x"}


def test_a_wrong_password_is_refused_for_good() -> None:
    registration = play("registration-wrong-password.irc", WORKER)
    assert registration.phase is Phase.REFUSED
    assert registration.refusal == Refusal(
        "904", "SASL authentication failed: Invalid account credentials"
    )


def test_every_transition_is_listed_with_where_it_leads() -> None:
    assert all(row.leads_to for row in TRANSITIONS.values())
    reachable = {phase for row in TRANSITIONS.values() for phase in row.leads_to}
    assert reachable == set(Phase)
    assert not any(phase is Phase.REFUSED for phase, _ in TRANSITIONS)


def lines(*texts: str, identity: Identity = WORKER) -> Registration:
    registration = Registration(identity)
    for text in texts:
        feed(registration, [], text)
    return registration


LS = ":s CAP * LS :sasl=PLAIN batch"
ACK = ":s CAP * ACK :sasl batch"


@pytest.mark.parametrize(
    ("received", "refusal"),
    [
        pytest.param(
            [":s CAP * LS :batch"],
            Refusal("SASL", "the server does not offer SASL PLAIN"),
            id="no sasl",
        ),
        pytest.param(
            [":s CAP * LS :sasl=EXTERNAL"],
            Refusal("SASL", "the server does not offer SASL PLAIN"),
            id="other mechanisms only",
        ),
        pytest.param(
            [":s 421 * CAP :Unknown command", ":s 001 HAL-9000 :Welcome"],
            Refusal("SASL", "the server does not know capabilities, so no SASL"),
            id="a server without capabilities",
        ),
        pytest.param(
            [LS, ":s CAP * NAK :batch sasl", ":s CAP * ACK :batch", ":s CAP * NAK :sasl"],
            Refusal("SASL", "the server refused the capability sasl"),
            id="sasl refused",
        ),
        pytest.param(
            [LS, ACK, "AUTHENTICATE c2VydmVy"],
            Refusal("SASL", "the server's SASL challenge is not PLAIN's"),
            id="a challenge that PLAIN does not have",
        ),
        pytest.param(
            [LS, ACK, "AUTHENTICATE +", ":s 902 * :You must use a nick assigned to you"],
            Refusal("902", "You must use a nick assigned to you"),
            id="a locked account",
        ),
        pytest.param(
            [":s 464 * :Password incorrect"],
            Refusal("464", "Password incorrect"),
            id="a server password",
        ),
        pytest.param(
            [LS, ACK, ":s FAIL * ACCOUNT_REQUIRED :You must be logged in"],
            Refusal("FAIL", "You must be logged in"),
            id="an account is required",
        ),
    ],
)
def test_a_login_that_cannot_succeed_is_refused(received: list[str], refusal: Refusal) -> None:
    registration = lines(*received)
    assert (registration.phase, registration.refusal) == (Phase.REFUSED, refusal)


def test_a_nick_that_is_never_accepted_ends_the_attempt() -> None:
    registration = lines(*[":s 432 * 9:lives :Erroneous nickname"] * 30, identity=Identity("9:"))
    assert registration.refusal == Refusal("432", "Erroneous nickname")


def test_an_anonymous_client_needs_no_capabilities() -> None:
    received = (":s 421 * CAP :Unknown command", ":s 001 tail :Hi", ":s 422 tail :No MOTD")
    assert lines(*received, identity=Identity("tail")).phase is Phase.READY


def test_a_server_without_the_needed_capabilities_is_named_too_old() -> None:
    registration = lines(LS, ACK, "AUTHENTICATE +", ":s 903 * :ok", ":s 001 HAL-9000 :Welcome")
    registration.require(("batch", "labeled-response"))
    assert registration.refusal == Refusal(
        "CAP", "the server lacks labeled-response; is it ergo >= 2.18?"
    )


@pytest.mark.parametrize(
    ("length", "sizes"),
    [(1, [8]), (295, [400]), (296, [400, 4]), (295 + 300, [400, 400]), (290, [396])],
)
def test_credentials_are_sent_in_pieces_of_400_bytes(length: int, sizes: list[int]) -> None:
    pieces = [message.text for message in sasl_plain("bob", "x" * length)]
    whole = pieces[:-1] if pieces[-1] == "+" else pieces
    assert [len(piece) for piece in whole] == sizes
    assert (pieces[-1] == "+") == (sizes[-1] == 400)
    assert base64.b64decode("".join(whole)) == b"\0bob\0" + b"x" * length


def test_a_long_wish_list_is_asked_for_on_lines_that_fit() -> None:
    names = [f"example.org/capability-{number:03}" for number in range(60)]
    registration = Registration(Identity("tail"), names)
    requests = registration.feed(Message("CAP", ("*", "LS", " ".join(names))))
    assert all(len(format_message(request)) < 450 for request in requests)
    assert [name for request in requests for name in request.text.split()] == names


def test_alternative_nicks_stay_within_the_length_of_a_nick() -> None:
    assert [alternative_nick("bob", n) for n in (1, 2, 3)] == ["bob_", "bob_2", "bob_3"]
    assert len(alternative_nick("b" * 40, 12)) <= 32


def test_a_password_is_not_shown_in_the_representation() -> None:
    assert "s3cret" not in repr(WORKER)
