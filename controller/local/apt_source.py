"""Fetch one Debian source package through the machine's own mirror, without root, beside its apt.

A private apt folder holds a single `deb-src` line; proxies and other `Acquire` settings stay the
machine's. apt checks the chain InRelease -> Sources -> tarball: what arrives is what Debian signed.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from controller.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

SUITE = "sid"
APT_SECONDS = 300
_KEYRINGS = (
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
)
_LINE = re.compile(r"deb(?:-src)?\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)")
_ROLLING_SUITES = {"sid", "unstable", "testing", "stable"}


@dataclass(frozen=True)
class Source:
    """One archive that the machine's apt knows."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]


def parse_sources(text: str, *, deb822: bool) -> list[Source]:
    """Read a `.sources` file (stanzas of fields) or a `.list` file (one line an archive)."""
    return list(_stanzas(text) if deb822 else _lines(text))


def _lines(text: str) -> Iterator[Source]:
    for line in text.splitlines():
        match = _LINE.fullmatch(line.partition("#")[0].strip())
        if match is not None:
            uri, suite, components = match.groups()
            yield Source(uri, (suite,), tuple(components.split()))


def _stanzas(text: str) -> Iterator[Source]:
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", kept):
        fields = {
            name.strip().lower(): " ".join(value.split())
            for name, value in re.findall(
                r"^([A-Za-z-]+):((?:.*)(?:\n[ \t].*)*)", stanza, re.MULTILINE
            )
        }
        if fields.get("enabled", "yes").lower() in {"no", "false", "0"}:
            continue
        suites = tuple(fields.get("suites", "").split())
        components = tuple(fields.get("components", "").split())
        for uri in fields.get("uris", "").split():
            yield Source(uri, suites, components)


def mirrors(sources: Iterable[Source], codename: str) -> list[str]:
    """The archives of the distribution itself: not its security updates, not a vendor's own."""
    wanted = _ROLLING_SUITES | {codename}
    found = [
        source.uri
        for source in sources
        if not source.uri.startswith("cdrom:")
        and wanted & set(source.suites)
        and "main" in source.components
    ]
    return list(dict.fromkeys(found))


def machine_mirrors() -> list[str]:
    """The mirrors of this machine, as its apt configuration names them."""
    folder = Path("/etc/apt")
    files = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
    sources: list[Source] = []
    for file in files:
        if file.suffix in {".list", ".sources"} and os.access(file, os.R_OK):
            text = file.read_text(errors="replace")
            sources += parse_sources(text, deb822=file.suffix == ".sources")
    return mirrors(sources, _codename())


def fetch(package: str, scratch: Path, env: Mapping[str, str], say: Callable[[str], None]) -> Path:
    """Download the package's upstream tarball into `scratch` and return its path."""
    found = machine_mirrors()
    if not found:
        raise LocalError("the machine's apt sources name no Debian mirror")
    for mirror in found[:-1]:
        try:
            return _fetch_from(mirror, package, scratch, env, say)
        except LocalError as error:
            say(str(error))
    return _fetch_from(found[-1], package, scratch, env, say)


def _fetch_from(
    mirror: str, package: str, scratch: Path, env: Mapping[str, str], say: Callable[[str], None]
) -> Path:
    options = _private_apt(scratch / "apt", mirror)
    say(f"reading the index of {SUITE} from {mirror} (12 MB)")
    _apt([*options, "update"], scratch, env)
    say(f"fetching the source package {package}")
    _apt([*options, "source", "--download-only", package], scratch, env)
    tarballs = sorted(scratch.glob("*.orig.tar.*"))
    if not tarballs:
        raise LocalError(f"the source package {package} of {mirror} has no upstream tarball")
    return tarballs[0]


def _private_apt(folder: Path, mirror: str) -> list[str]:
    for name in ("parts", "lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    keyrings = [path for path in _KEYRINGS if Path(path).is_file()]
    signed_by = f"[signed-by={keyrings[0]}] " if keyrings else ""  # else apt's own trusted keys
    (folder / "sources.list").write_text(f"deb-src {signed_by}{mirror} {SUITE} main\n")
    settings = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": folder / "parts",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Acquire::Languages": "none",
        "APT::Update::Error-Mode": "any",  # a mirror that is down is no mere warning
    }
    if os.geteuid() == 0:
        settings["APT::Sandbox::User"] = "root"  # else `_apt`, which cannot write our folder
    return [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]


def _apt(args: list[str], scratch: Path, env: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(
            ["apt-get", "--quiet", *args],
            cwd=scratch,
            env={**env, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=APT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LocalError(f"apt-get cannot be run: {error}") from error
    if done.returncode != 0:
        complaints = [line for line in done.stderr.splitlines() if line.startswith("E:")]
        reason = complaints[0] if complaints else f"exit {done.returncode}"
        raise LocalError(f"apt-get {args[-1]} failed: {reason}")


def _codename() -> str:
    try:
        text = Path("/etc/os-release").read_text()
    except OSError:
        return ""
    found = re.search(r'^VERSION_CODENAME="?([^"\n]*)', text, re.MULTILINE)
    return found.group(1) if found else ""
