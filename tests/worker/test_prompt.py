from __future__ import annotations

from dataclasses import replace

from worker.prompt import Assignment, first_message, return_message, system_prompt

ASSIGNMENT = Assignment(
    account="HAL-9000",
    channel="#task-12",
    attempt=2,
    requester="alice",
    title="Fix the login",
    description="It loops.\nSee #3.",
    workspace="/workspace",
)


def test_the_system_prompt_says_who_where_how_to_ask_and_how_to_end() -> None:
    text = system_prompt(ASSIGNMENT, "ROOM-1")
    for fact in ("HAL-9000", "#task-12", "alice", "/workspace", "ask_human", "[[BLOCKED]]"):
        assert fact in text
    assert "ROOM-1" in text
    assert "## Summary" in text
    assert "branch" not in text


def test_nothing_in_it_changes_with_the_attempt() -> None:
    later = replace(ASSIGNMENT, attempt=7)
    assert system_prompt(later, "ROOM-1") == system_prompt(ASSIGNMENT, "ROOM-1")


def test_a_bound_task_gets_the_git_policy() -> None:
    bound = replace(ASSIGNMENT, repo="web", branch="main")
    assert "starts from main" in system_prompt(bound, "ROOM-1")
    assert "Never commit to or push the default branch" in system_prompt(bound, "ROOM-1")


def test_the_first_message_is_the_task_and_what_was_said_about_it() -> None:
    assert first_message(ASSIGNMENT, notes="use tabs", memory="MEMORY") == (
        "Task #task-12: Fix the login\n\nIt loops.\nSee #3.\n\n"
        "Notes said in #task-12 before you came:\n\nuse tabs\n\nMEMORY"
    )
    assert first_message(ASSIGNMENT).endswith("See #3.")


def test_who_comes_back_is_told_what_is_new_at_the_end() -> None:
    text = return_message(ASSIGNMENT, "Ada")
    assert "attempt 2" in text
    assert text.endswith("Said in #task-12 since:\n\nAda")
    assert "since" not in return_message(ASSIGNMENT, "")
