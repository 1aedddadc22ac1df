from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.nicks import POOL, Pool, first_free, is_reserved, pool_from_metadata
from shared.ircv3.casemap import fold


def test_friendly_names_are_legal_nicks_and_differ() -> None:
    assert len({fold(name) for name in POOL}) == len(POOL)
    assert all(name[0].isalpha() and len(name) <= 16 for name in POOL)


@pytest.mark.parametrize(
    ("taken", "people", "name"),
    [
        ((), (), "HAL-9000"),
        (("hal-9000",), (), "GLaDOS"),
        (("HAL-9000",), ("glados",), "Marvin"),
        (POOL, (), "agent-1"),
        ((*POOL, "agent-1"), ("agent-2",), "agent-3"),
    ],
)
def test_the_first_free_name_is_friendly_as_long_as_there_is_one(
    taken: tuple[str, ...], people: tuple[str, ...], name: str
) -> None:
    assert first_free({fold(n) for n in taken}, {fold(n) for n in people}) == name


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        ("hal-9000", True),
        ("AGENT-7", True),
        ("agent-smith", True),
        ("Controller", True),
        ("dashboard", True),
        ("alice", False),
        ("agentina", False),
    ],
)
def test_reserved_names_are_for_nobody(name: str, reserved: bool) -> None:
    assert is_reserved(name) == reserved


@given(st.lists(st.sampled_from([*POOL, "agent-1", "agent-17"]), unique=True))
def test_listed_names_come_back_from_metadata(names: list[str]) -> None:
    pool = Pool()
    for name in names:
        pool = pool.with_name(name).with_name(name)
    values = pool.to_metadata()
    assert all(len(key) + len(value.encode()) <= 350 for key, value in values.items())
    assert pool_from_metadata(values) == pool
    assert all(pool.lists(name) for name in names)


def test_a_person_may_have_a_name_that_is_not_listed() -> None:
    pool = Pool(("HAL-9000",), agents=3)
    assert [pool.lists(n) for n in ("hal-9000", "agent-3", "agent-4", "GLaDOS", "alice")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert not pool.with_person("agent-2").lists("agent-2")
    assert pool_from_metadata({"pool_agents": "many"}) == Pool()
