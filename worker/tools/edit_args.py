"""Reads the edits out of what models really send (pure).

Besides a list of {old, new}: one object, either of them as a JSON string, a pair at the top level,
the key names of other agents' tools, and extra fields.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from worker.tools import ToolError
from worker.tools.edit_match import Edit

_OLD_KEYS = ("old", "oldText", "old_text", "old_string", "old_str")
_NEW_KEYS = ("new", "newText", "new_text", "new_string", "new_str")


def parse_edits(args: Mapping[str, object]) -> list[Edit]:
    """The edits of a call, or ToolError naming the one that is malformed."""
    value = args.get("edits")
    if isinstance(value, str):
        value = _from_json(value)
    if value is None and any(key in args for key in _OLD_KEYS):
        value = args
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list):
        raise ToolError("edits: a list of {old, new} is needed")
    return [_parse(number, item) for number, item in enumerate(value)]


def _from_json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ToolError(f"edits: not a list and not JSON ({error}); send a list") from error


def _parse(number: int, item: object) -> Edit:
    if not isinstance(item, Mapping):
        raise ToolError(f"edits[{number}]: an object with old and new is needed")
    old = next((item[key] for key in _OLD_KEYS if key in item), None)
    new = next((item[key] for key in _NEW_KEYS if key in item), None)
    if not isinstance(old, str) or not isinstance(new, str):
        raise ToolError(f"edits[{number}]: old and new must both be strings")
    return Edit(old, new)
