"""`agent-controller run|local|demo|account`: what is expected to go wrong is one line and a code.

Exit codes: 0 done or stopped by a signal, 1 refused, 2 a bad setting or command line, 3 another
controller is there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from controller.errors import ControllerError
from controller.nicks import is_reserved
from controller.settings import environment, load_settings

_COMMANDS = {
    "run": "the controller alone, for an ergo that runs already",
    "local": "ergo and controller on this machine, kept alive until Ctrl-C",
    "demo": "one task from `!new` to `done` on a throw-away home",
    "account": "people's accounts: add, reset, list, remove",
}


def main(argv: Sequence[str] | None = None) -> int:
    """The console script."""
    words = list(sys.argv[1:] if argv is None else argv)
    args, rest = _parser().parse_known_args(words)
    if args.command != "account" and rest:
        _parser().error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        return _dispatch(args.command, rest)
    except ControllerError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agent-controller", description="Ergonaut's controller: AI agents on tasks, in IRC."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in _COMMANDS.items():
        # what follows `account` is for its own parser, `--help` too
        commands.add_parser(name, help=summary, add_help=name != "account")
    return parser


def _dispatch(command: str, rest: list[str]) -> int:
    """Each part is imported only where it is used: `account` needs no core, `run` no demo."""
    match command:
        case "run":
            from controller.app import run

            run(load_settings())
            return 0
        case "local":
            from controller.local.supervisor import run_local

            return run_local(load_settings(), environment())
        case "demo":
            from controller.local.demo import run_demo

            return run_demo(load_settings(), environment())
        case _:
            from controller.ops import accounts

            return accounts.main(rest, environment(), is_reserved)


if __name__ == "__main__":
    sys.exit(main())
