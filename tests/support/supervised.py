"""`make run` with a stand-in for the controller: a program for the tests of the supervisor."""

from __future__ import annotations

import os
import sys

from controller.local.supervisor import run_local
from controller.settings import load_settings

if __name__ == "__main__":
    program = (sys.executable, "-m", "tests.support.stand_in_controller")
    sys.exit(run_local(load_settings(), os.environ, program))
