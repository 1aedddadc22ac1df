"""The one error of a local run: a line that says what is wrong, with what, and what to do."""

from controller.errors import ControllerError


class LocalError(ControllerError):
    """A start that cannot go on; its text is the line that the person sees."""
