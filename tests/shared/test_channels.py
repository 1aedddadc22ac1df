import pytest

from shared.channels import TaskChannel, is_channel, parse_task_channel


@pytest.mark.parametrize(
    ("name", "channel"),
    [
        pytest.param("#task-1", TaskChannel(1), id="plain"),
        pytest.param("#web-task-12", TaskChannel(12, "web"), id="of a hub"),
        pytest.param("#Web.App-TASK-3", TaskChannel(3, "web.app"), id="case-blind"),
        pytest.param("#task-task-4", TaskChannel(4, "task"), id="hub called task"),
        pytest.param("#task-0", None, id="numbers start at 1"),
        pytest.param("#task-01", None, id="leading zero"),
        pytest.param("#tasks", None, id="control channel"),
        pytest.param("task-1", None, id="no channel"),
        pytest.param("#task-1234567890", None, id="a number that is nobody's"),
        pytest.param("#task-1x", None, id="something after the number"),
    ],
)
def test_a_task_channel_is_told_by_its_name(name: str, channel: TaskChannel | None) -> None:
    assert parse_task_channel(name) == channel


def test_a_task_channel_name_reads_back() -> None:
    for channel in (TaskChannel(7), TaskChannel(7, "web")):
        assert parse_task_channel(channel.name) == channel
        assert is_channel(channel.name)
