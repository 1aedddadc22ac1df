"""Why the controller ends or cannot start; each text is the one line that its operator sees.

ControllerError
  SettingsError      a setting is missing or not readable (exit 2)
  StartRefused       the server or the machine is not as it must be (exit 1)
  LocalError         a part of a local run is not as it must be (exit 1)
  AnotherController  an older live session of our account answers (exit 3)
"""

from __future__ import annotations


class ControllerError(Exception):
    """Root; the text says what is wrong, with what, and what to do."""

    exit_code = 1


class SettingsError(ControllerError):
    """One line per bad setting."""

    exit_code = 2


class StartRefused(ControllerError):
    """Trying again without a change is no use."""


class LocalError(ControllerError):
    """A local run cannot start or go on."""


class AnotherController(ControllerError):
    """Two controllers side by side would both write; the older one stays."""

    exit_code = 3
