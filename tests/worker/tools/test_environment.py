from __future__ import annotations

from worker.tools.environment import clean_environment


def test_t79_nothing_gets_in_that_is_not_on_the_list() -> None:
    environ = {
        "PATH": "/bin",
        "LC_ALL": "C.UTF-8",
        "HOME": "/home/somebody",
        "ANTHROPIC_API_KEY": "sk-ant-x",
        "IRC_SASL_PASSWORD": "x",
        "GH_TOKEN": "x",
        "SSH_AUTH_SOCK": "/run/agent",
        "BASH_ENV": "/tmp/evil",
        "LD_PRELOAD": "/tmp/evil.so",
        "PYTHONPATH": "/tmp",
        "GIT_EDITOR": "vi",
    }
    assert clean_environment(environ) == {
        "PATH": "/bin",
        "LC_ALL": "C.UTF-8",
        "GIT_EDITOR": "false",
        "GIT_SEQUENCE_EDITOR": "false",
        "EDITOR": "false",
        "VISUAL": "false",
        "GIT_PAGER": "cat",
        "PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "DEBIAN_FRONTEND": "noninteractive",
        "TERM": "dumb",
        "SSH_ASKPASS": "false",
        "SUDO_ASKPASS": "false",
        "SHELL": "/bin/bash",
    }


def test_there_is_always_a_path() -> None:
    assert clean_environment({})["PATH"].endswith("/usr/bin:/sbin:/bin")
