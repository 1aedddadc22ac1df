"""Models behind the Anthropic Messages API, or what speaks like it: the one importer of the SDK.

The SDK is loaded with the first request and not before, because it takes longer than a worker may
take to say that it has started.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

from worker.agent.anthropic_reply import ReplyReader, usage_of
from worker.agent.events import ModelEvent, ReplyDone, Retrying
from worker.agent.messages import AssistantMessage, StopReason, Usage
from worker.agent.request import ModelRequest, render
from worker.agent.retry import Failure, RetryPolicy

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx2
    from anthropic import AsyncAnthropic

DEFAULT_BASE_URL = "https://api.anthropic.com"
RETRYABLE_STATUS = frozenset({408, 409, 429})
RETRYABLE_TYPES = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
"""An error in mid-stream comes with status 200, so its type decides."""

_HINTS = {
    401: " (is ANTHROPIC_API_KEY right?)",
    403: " (what may ANTHROPIC_API_KEY do?)",
    404: " (is WORKER_MODEL right?)",
}

CUT_OFF = "the reply was cut off before its end"


@dataclass(frozen=True, slots=True)
class AnthropicConfig:
    """How to reach a model."""

    model: str
    api_key: str = field(repr=False)
    base_url: str | None = None
    """None: Anthropic's own."""
    max_output_tokens: int = 32_000
    """Of one reply, thinking included."""
    connect_seconds: float = 10.0
    silence_seconds: float = 120.0
    """A stream that brings nothing for so long, not even a ping, is given up and asked again."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)


class AnthropicModel:
    """One model. Close it at the end."""

    def __init__(
        self, config: AnthropicConfig, http_client: httpx2.AsyncClient | None = None
    ) -> None:
        self._config = config
        self._http_client = http_client
        self._client: AsyncAnthropic | None = None
        self._rng = Random()

    @property
    def name(self) -> str:
        return self._config.model

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Tries again by itself after what may pass; what was streamed before that is void."""
        arguments = {key: value for key, value in render(request, self.name).items() if value}
        wasted = Usage()
        failures = 0
        while True:
            failure: Failure | None = None
            async with aclosing(self._try(arguments)) as events:
                async for event in events:
                    if isinstance(event, Failure):
                        failure = event
                    elif isinstance(event, ReplyDone):
                        yield ReplyDone(replace(event.message, wasted=wasted))
                    else:
                        yield event
            if failure is None:
                return
            failures += 1
            pause = self._config.retry.pause_seconds(failures, failure, self._rng)
            if pause is None:
                yield ReplyDone(self._failed(failure, wasted))
                return
            wasted += failure.usage
            yield Retrying(failures, pause, failure.text)
            await asyncio.sleep(pause)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    def _failed(self, failure: Failure, wasted: Usage) -> AssistantMessage:
        return AssistantMessage(
            (), StopReason.ERROR, self.name, failure.usage, wasted, failure.text
        )

    async def _try(self, arguments: dict[str, Any]) -> AsyncGenerator[ModelEvent | Failure, None]:
        """One request: deltas, then a ReplyDone or a Failure."""
        reader = ReplyReader(self.name)
        stream: Any = None
        try:
            async with (await self._connected()).messages.stream(
                model=self.name, max_tokens=self._config.max_output_tokens, **arguments
            ) as stream:
                async for event in stream:
                    delta = reader.feed(event, _snapshot(stream))
                    if delta is not None:
                        yield delta
            reply = reader.message(_snapshot(stream))
            if reply is not None:
                yield ReplyDone(reply)
            else:
                yield Failure(CUT_OFF, retryable=True, usage=_usage(stream))
        except ValueError as error:
            reply = reader.broken(_snapshot(stream), error)
            yield ReplyDone(reply) if reply is not None else _failure(error, stream)
        except Exception as error:
            yield _failure(error, stream)

    async def _connected(self) -> AsyncAnthropic:
        if self._client is None:
            sdk = await asyncio.to_thread(importlib.import_module, "anthropic")
            self._client = sdk.AsyncAnthropic(
                api_key=self._config.api_key,
                # by itself this SDK sends the key as a bearer token, which not every server takes
                default_headers={"X-Api-Key": self._config.api_key, "Authorization": sdk.Omit()},
                timeout=sdk.Timeout(
                    self._config.silence_seconds, connect=self._config.connect_seconds
                ),
                base_url=self._config.base_url or DEFAULT_BASE_URL,
                max_retries=0,
                http_client=self._http_client,
            )
        return self._client


def _snapshot(stream: Any) -> Any:
    """The reply so far; None before its first event."""
    # The SDK's public property asserts that there is one.
    try:
        return stream.current_message_snapshot if stream is not None else None
    except AssertionError:
        return None


def _usage(stream: Any) -> Usage:
    snapshot = _snapshot(stream)
    return usage_of(snapshot) if snapshot is not None else Usage()


def _failure(error: Exception, stream: Any) -> Failure:
    """By type, never by wording; raw transport errors reach us unwrapped in mid-stream."""
    import anthropic
    import httpx2

    usage = _usage(stream)
    words = str(error) or type(error).__name__
    match error:
        case anthropic.APIStatusError():
            kind = f"{error.status_code} {error.type or ''}".strip()
            hint = _HINTS.get(error.status_code, "")
            text = f"the API answered {kind}: {error.api_message or error.message}{hint}"
            return Failure(text, _is_passing(error), _retry_after(error.response), usage)
        case anthropic.APIConnectionError() | httpx2.TransportError():
            return Failure(f"the connection to the API failed: {words}", True, None, usage)
        case json.JSONDecodeError():
            return Failure(f"the API sent an event that is not JSON: {words}", True, None, usage)
        case _:
            return Failure(f"the request failed: {words}", False, None, usage)


def _is_passing(error: Any) -> bool:
    status: int = error.status_code
    return status in RETRYABLE_STATUS or status >= 500 or error.type in RETRYABLE_TYPES


def _retry_after(response: httpx2.Response) -> float | None:
    try:
        return float(response.headers["retry-after"])
    except (KeyError, ValueError):
        return None
