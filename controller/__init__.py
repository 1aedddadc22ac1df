"""The controller: the one writer of task state. May import shared; never worker."""
