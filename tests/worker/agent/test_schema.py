"""Arguments against a schema (A46)."""

from __future__ import annotations

from typing import Any

import pytest

from worker.agent.schema import Invalid, Valid, check_arguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "offset": {"type": "integer", "minimum": 1},
        "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 1800},
        "quiet": {"type": "boolean"},
        "mode": {"enum": ["fast", "slow"]},
        "either": {"type": ["integer", "null"]},
        "edits": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                "required": ["old", "new"],
            },
        },
    },
    "required": ["path"],
}


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        pytest.param({"offset": 3}, {"offset": 3}, id="as wanted"),
        pytest.param({"offset": "42"}, {"offset": 42}, id="number as text"),
        pytest.param({"offset": 2.0}, {"offset": 2}, id="whole float"),
        pytest.param({"timeout": "1.5"}, {"timeout": 1.5}, id="float as text"),
        pytest.param({"quiet": "true"}, {"quiet": True}, id="boolean as text"),
        pytest.param({"offset": None}, {}, id="null for not given"),
        pytest.param({"either": None}, {"either": None}, id="null where it is meant"),
        pytest.param({"extra": 1}, {"extra": 1}, id="extra argument"),
        pytest.param(
            {"edits": {"old": "a", "new": "b"}},
            {"edits": [{"old": "a", "new": "b"}]},
            id="one for a list of one",
        ),
        pytest.param(
            {"edits": '[{"old": "a", "new": 1}]'},
            {"edits": [{"old": "a", "new": "1"}]},
            id="list as JSON text",
        ),
    ],
)
def test_what_is_plainly_meant_is_taken_on_a_copy(given: Any, taken: Any) -> None:
    args = {"path": "x", **given}
    before = repr(args)
    assert check_arguments(SCHEMA, args) == Valid({"path": "x", **taken})
    assert repr(args) == before


@pytest.mark.parametrize(
    ("args", "problems"),
    [
        ({}, ["path: required but missing"]),
        ({"path": None}, ["path: string wanted, not null"]),
        ({"path": ""}, ["path: a length of at least 1 wanted"]),
        ({"path": "x", "offset": 0}, ["offset: at least 1 wanted"]),
        ({"path": "x", "offset": 1.5}, ["offset: integer wanted, not number"]),
        ({"path": "x", "offset": True}, ["offset: integer wanted, not boolean"]),
        ({"path": "x", "timeout": 0}, ["timeout: more than 0 wanted"]),
        ({"path": "x", "timeout": float("inf")}, ["timeout: number wanted, not inf"]),
        ({"path": "x", "mode": "odd"}, ['mode: one of ["fast", "slow"] wanted']),
        ({"path": "x", "edits": []}, ["edits: a length of at least 1 wanted"]),
        ({"path": "x", "edits": [{"old": "a"}]}, ["edits[0].new: required but missing"]),
        ({"path": "x", "edits": "[no"}, ["edits[0]: object wanted, not string"]),
        ({"offset": "x"}, ["offset: integer wanted, not string", "path: required but missing"]),
    ],
)
def test_what_does_not_fit_is_named_with_its_path(args: Any, problems: list[str]) -> None:
    assert check_arguments(SCHEMA, args) == Invalid(tuple(problems))


def test_a_closed_schema_refuses_unknown_arguments() -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    assert check_arguments(closed, {"x": 1}) == Invalid(("x: there is no such argument",))
