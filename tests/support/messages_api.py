"""A server on loopback that speaks the streaming Messages API and follows a script."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.model import without_marks
from tests.support.request_rules import check_request

KEY = "sk-test-0123456789abcdefghij"
Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """A reply, whole or not."""

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, object]]] = ()
    stop_reason: str = ""
    ends: str = "whole"
    """`whole`; `truncated`: the stream ends early and in order; `cut`: the connection breaks;
    `overloaded`: an error comes in the middle; `silent`: nothing more comes."""


@dataclass(frozen=True)
class Refusal:
    """An answer that is an error."""

    status: int
    kind: str
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)


Script = Answer | Refusal


@dataclass
class MessagesApi:
    """What was asked, and what will be answered; past its script it says that it is done."""

    port: int = 0
    script: list[Script] = field(default_factory=list)
    requests: list[Json] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Requests that the real API would have refused."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def messages(self, request: int) -> list[Json]:
        """Without the cache marks, which move."""
        found: list[Json] = without_marks(self.requests[request]["messages"])
        return found

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            pairs = (line.partition(": ") for line in head[1:] if line)
            headers = {name.lower(): value for name, _, value in pairs}
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            await self._answer(headers, body, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, headers: Mapping[str, str], body: Json, writer: asyncio.StreamWriter
    ) -> None:
        self.headers.append(headers)
        self.requests.append(body)
        try:
            check_request({key: body[key] for key in ("system", "tools", "messages")})
        except AssertionError as error:
            self.problems.append(str(error))
        if headers.get("x-api-key") != KEY:
            entry: Script = Refusal(401, "authentication_error", "invalid x-api-key")
        else:
            entry = self.script.pop(0) if self.script else Answer("## Summary\n- done")
        if isinstance(entry, Refusal):
            writer.write(_refusal(entry))
            return
        writer.write(_head(200, {"content-type": "text/event-stream"}) + b"\r\n")
        for event in _events(entry, len(self.requests)):
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            writer.write(b"%x\r\n%b\r\n" % (len(data), data))
            await writer.drain()
        if entry.ends == "silent":
            await asyncio.sleep(3600)
        if entry.ends != "cut":
            writer.write(b"0\r\n\r\n")


@asynccontextmanager
async def messages_api(*script: Script) -> AsyncIterator[MessagesApi]:
    api = MessagesApi(script=list(script))
    server = await asyncio.start_server(api.serve, "127.0.0.1", 0)
    api.port = server.sockets[0].getsockname()[1]
    try:
        yield api
    finally:
        server.close()


def _refusal(refusal: Refusal) -> bytes:
    error = {"type": refusal.kind, "message": refusal.message}
    body = json.dumps({"type": "error", "error": error, "request_id": "req_1"}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    return _head(refusal.status, {**headers, **refusal.headers}) + b"\r\n" + body


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    chunked = {} if "content-length" in headers else {"transfer-encoding": "chunked"}
    every = {"connection": "close", **chunked, **headers}
    lines = [f"HTTP/1.1 {status} -", *(f"{name}: {value}" for name, value in every.items())]
    return "".join(f"{line}\r\n" for line in lines).encode()


def _events(answer: Answer, number: int) -> list[Json]:
    usage = {"input_tokens": 100, "output_tokens": 1}
    message: Json = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[Json] = [{"type": "message_start", "message": message}]
    indexes = itertools.count()
    if answer.text:
        delta = {"type": "text_delta", "text": answer.text}
        events += _block(next(indexes), {"type": "text", "text": ""}, delta)
    if answer.ends == "overloaded":
        error = {"type": "overloaded_error", "message": "Overloaded"}
        return [*events, {"type": "error", "error": error}]
    if answer.ends != "whole":
        return events[:-1]
    for index, (name, given) in zip(indexes, answer.calls, strict=False):
        start = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
        events += _block(index, start, delta)
    reason = answer.stop_reason or ("tool_use" if answer.calls else "end_turn")
    change = {"stop_reason": reason, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": change, "usage": {"output_tokens": 20}})
    return [*events, {"type": "message_stop"}]


def _block(index: int, start: Json, delta: Json) -> list[Json]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]
