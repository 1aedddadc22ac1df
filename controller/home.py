"""ERGONAUT_HOME: everything of a local run that lives between two starts, and who may use it."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import string
import tempfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from controller.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEFAULT_HOME = ".ergonaut"
PRIVATE_FOLDER = 0o700
_PASSWORD_CHARACTERS = string.ascii_letters + string.digits
_PASSWORD_LENGTH = 20


@dataclass(frozen=True)
class Credentials:
    """The passwords of a local run; made once, kept in a file that only its owner reads."""

    controller: str = field(repr=False)
    """Of the account `controller`."""
    oper: str = field(repr=False)
    """Of the oper block `controller`."""
    you: str = field(repr=False)
    """Of the account `you`, the person whom this run belongs to."""

    @classmethod
    def generate(cls) -> Credentials:
        """Fresh random passwords."""
        return cls(*(new_password() for _ in fields(cls)))


def new_password() -> str:
    """Letters and digits alone: irssi takes a leading `-` for an option."""
    return "".join(secrets.choice(_PASSWORD_CHARACTERS) for _ in range(_PASSWORD_LENGTH))


@dataclass(frozen=True)
class Home:
    """The layout below one root folder."""

    root: Path

    @property
    def ergo(self) -> Path:
        """The server's own folder: configuration, databases, lock."""
        return self.root / "ergo"

    @property
    def workspaces(self) -> Path:
        """One folder a task, named like its channel without `#`."""
        return self.root / "workspaces"

    @property
    def logs(self) -> Path:
        """One file a part, `<part>.log`."""
        return self.root / "logs"

    @property
    def run(self) -> Path:
        """`<part>.pid` of what runs now, and the locks that prove it."""
        return self.root / "run"

    @property
    def credentials_file(self) -> Path:
        """JSON, mode 0600."""
        return self.root / "credentials.json"

    def pid_file(self, part: str) -> Path:
        """Holds the pid alone."""
        return self.run / f"{part}.pid"

    def log_file(self, part: str) -> Path:
        """Appended to at each start."""
        return self.logs / f"{part}.log"

    def remember_port(self, port: int) -> None:
        """Where the server listens; read by tools that know only the home."""
        write_atomically(self.run / "irc.port", f"{port}\n", mode=0o644)

    def last_port(self) -> int | None:
        """The port of the last start; None before the first."""
        try:
            return int((self.run / "irc.port").read_text())
        except (OSError, ValueError):
            return None

    def prepare(self) -> None:
        """Make the folders, or raise LocalError when the place cannot be written."""
        try:
            for folder in (self.root, self.ergo, self.workspaces, self.logs, self.run):
                folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=folder):
                    pass
        except OSError as error:
            raise LocalError(
                f"ERGONAUT_HOME={self.root} cannot be written ({error.strerror}); "
                f"name another folder"
            ) from error

    def credentials(self) -> Credentials:
        """Those of the first start; LocalError when there was none."""
        try:
            stored = json.loads(self.credentials_file.read_text())
            return Credentials(**stored)
        except FileNotFoundError as error:
            raise LocalError(
                f"{self.root} holds no credentials; the first start of `make run` makes them"
            ) from error
        except PermissionError as error:
            raise LocalError(f"{self.credentials_file} belongs to another user") from error
        except (ValueError, TypeError) as error:
            raise LocalError(
                f"{self.credentials_file} is damaged; delete it to get new ones"
            ) from error

    def credentials_or_new(self) -> Credentials:
        """As `credentials`; generates and stores them at the first start."""
        if self.credentials_file.exists():
            return self.credentials()
        fresh = Credentials.generate()
        write_atomically(self.credentials_file, json.dumps(asdict(fresh), indent=2) + "\n")
        return fresh

    @contextmanager
    def supervised(self) -> Iterator[None]:
        """Hold the home for one supervisor; LocalError in one line when another one has it."""
        with (self.run / "supervisor.lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise LocalError(
                    f"Ergonaut already runs on {self.root}{self._holder()}; "
                    "stop it, or set another ERGONAUT_HOME"
                ) from error
            pid_file = self.pid_file("supervisor")
            write_atomically(pid_file, f"{os.getpid()}\n")
            try:
                yield
            finally:
                pid_file.unlink(missing_ok=True)

    def _holder(self) -> str:
        try:
            return f" (pid {self.pid_file('supervisor').read_text().strip()})"
        except OSError:
            return ""


def home_from(env: Mapping[str, str]) -> Home:
    """ERGONAUT_HOME, or `.ergonaut` below the current folder."""
    return Home(Path(env.get("ERGONAUT_HOME") or DEFAULT_HOME).expanduser().absolute())


def write_atomically(path: Path, text: str, mode: int = 0o600) -> None:
    """Readers see the old file or the whole new one, and never with wider rights."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
