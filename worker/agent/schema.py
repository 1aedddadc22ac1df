"""Arguments against a tool's input schema: the part of JSON Schema that tools use, read kindly.

Models send "42" for 42, one value for a list of one, a list as a JSON string, null for "not given".
Where the meaning is plain it is accepted, on a copy; where it is not, each problem is named with
its path.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite

Schema = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Valid:
    """Arguments that fit, coerced where needed."""

    args: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Invalid:
    """What does not fit, a line each."""

    problems: tuple[str, ...]


def check_arguments(schema: Schema, args: Mapping[str, object]) -> Valid | Invalid:
    problems: list[str] = []
    checked = _object(schema, dict(args), "", problems)
    return Invalid(tuple(problems)) if problems else Valid(checked)


def _value(schema: Schema, value: object, path: str, problems: list[str]) -> object:
    types = _types(schema)
    value = _coerce(value, types)
    if types and not any(_is_type(value, name) for name in types):
        problems.append(f"{path}: {' or '.join(types)} wanted, not {_type_name(value)}")
        return value
    if isinstance(value, dict):
        value = _object(schema, value, path, problems)
    elif isinstance(value, list):
        value = _array(schema, value, path, problems)
    _bounds(schema, value, path, problems)
    return value


def _object(
    schema: Schema, value: dict[str, object], path: str, problems: list[str]
) -> dict[str, object]:
    properties = _mapping(schema.get("properties"))
    required = _list(schema.get("required"))
    checked: dict[str, object] = {}
    for key, item in value.items():
        inner = _mapping(properties.get(key))
        if item is None and key not in required and "null" not in _types(inner):
            continue
        if key not in properties and schema.get("additionalProperties") is False:
            problems.append(f"{_join(path, key)}: there is no such argument")
            continue
        checked[key] = _value(inner, item, _join(path, key), problems)
    problems += [f"{_join(path, str(k))}: required but missing" for k in required if k not in value]
    return checked


def _array(schema: Schema, value: list[object], path: str, problems: list[str]) -> list[object]:
    inner = _mapping(schema.get("items"))
    return [_value(inner, item, f"{path}[{i}]", problems) for i, item in enumerate(value)]


_BOUNDS: Mapping[str, tuple[Callable[[float, float], bool], str]] = {
    "minimum": (operator.ge, "at least"),
    "exclusiveMinimum": (operator.gt, "more than"),
    "maximum": (operator.le, "at most"),
    "minLength": (operator.ge, "a length of at least"),
    "maxLength": (operator.le, "a length of at most"),
    "minItems": (operator.ge, "a length of at least"),
    "maxItems": (operator.le, "a length of at most"),
}


def _bounds(schema: Schema, value: object, path: str, problems: list[str]) -> None:
    choices = _list(schema.get("enum"))
    if choices and value not in choices:
        problems.append(f"{path}: one of {json.dumps(choices)} wanted")
    size = _size(value)
    for name, (fits, words) in _BOUNDS.items():
        bound = schema.get(name)
        if size is not None and isinstance(bound, int | float) and not fits(size, bound):
            problems.append(f"{path}: {words} {bound} wanted")


def _size(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    return len(value) if isinstance(value, str | list) else None


def _types(schema: Schema) -> list[str]:
    wanted = schema.get("type")
    return [wanted] if isinstance(wanted, str) else [str(name) for name in _list(wanted)]


def _is_type(value: object, name: str) -> bool:
    match name:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return is_number and isfinite(value)  # type: ignore[arg-type]
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return value is None


def _coerce(value: object, types: list[str]) -> object:
    """The value as one of the types, where that is plain; else the value as it is."""
    if not types or any(_is_type(value, name) for name in types):
        return value
    for name in types:
        candidate = _as_type(value, name)
        if _is_type(candidate, name):
            return candidate
    return value


def _as_type(value: object, name: str) -> object:
    match name:
        case "integer" | "number":
            return _as_number(value, name)
        case "string":
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return json.dumps(value) if is_number else value
        case "boolean":
            return {"true": True, "false": False}.get(str(value), value)
        case "array":
            parsed = _from_json(value)
            return parsed if isinstance(parsed, list) or parsed is None else [parsed]
        case "object":
            return _from_json(value)
        case _:
            return value


def _as_number(value: object, name: str) -> object:
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value.strip()):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}\.\d{1,18}", value.strip()):
        value = float(value)
    if name == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _from_json(value: object) -> object:
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _type_name(value: object) -> str:
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    names = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array"}
    return "null" if value is None else names.get(type(value), "object")


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
