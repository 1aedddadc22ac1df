"""Neither the model's key nor the worker's password can be read by a tool, or is kept anywhere."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.ergo_server import ErgoServer
from tests.support.messages_api import KEY, Answer, messages_api
from tests.support.worker_stage import stage

pytestmark = pytest.mark.slow

SANDBOXES = ["none", pytest.param("auto", marks=pytest.mark.sandbox)]
TOKEN = "ghp_" + "a1B2" * 9
OURS = "$PPID $(ps -o ppid= $PPID)"
"""The tool host and the worker, or what stands in its place behind bubblewrap. Never others: the
machine has processes that are none of the test's business."""
SCAN = """python3 - OURS <<'E'
import re, sys
for pid in sys.argv[1:]:
    try:
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in open(f"/proc/{pid}/maps").read().splitlines():
                start, end = (int(x, 16) for x in line.split()[0].split("-"))
                if " rw" not in line or start > 1 << 62:
                    continue
                memory.seek(start)
                for key in re.findall(rb"sk-te[s]t-[0-9a-j]+", memory.read(end - start)):
                    print("FOUND", key[::-1].decode())
    except OSError as error:
        print("closed", pid, type(error).__name__)
E"""
TRIES = {
    "environment": "env; export -p",
    "environments": "for p in OURS; do tr '\\0' '\\n' </proc/$p/environ; done",
    "command lines": "for p in OURS; do tr '\\0' ' ' </proc/$p/cmdline; done",
    "descriptors": "for p in OURS; do ls -l /proc/$p/fd; done",
    "memory": SCAN,
    "core dump": "ulimit -c unlimited; kill -SEGV $(ps -o ppid= $PPID); sleep 1; ls; strings core*",
    "files": "cat ../*.json ../state/* ../run/* ../state/home/* 2>&1; ls -la .. ~ 2>&1",
    "tokens": (
        f"echo {TOKEN}; echo Authorization: Bearer abcdefghijklmnop; "
        f"printf '%s' {TOKEN} | cut -c1-20"
    ),
}


@pytest.mark.parametrize("sandbox", SANDBOXES)
@pytest.mark.parametrize("name", TRIES)
async def test_no_tool_call_finds_a_secret(
    ergo: ErgoServer, unique: str, tmp_path: Path, name: str, sandbox: str
) -> None:
    calls = [("bash", {"command": TRIES[name].replace("OURS", OURS)})]
    async with (
        messages_api(Answer("I look.", calls)) as api,
        stage(ergo, unique, tmp_path, "work") as room,
    ):
        room.secrets = replace(room.secrets, anthropic_api_key=KEY)
        worker = await room.start_worker(
            model="anthropic",
            worker_model="claude-sonnet-4-6",
            anthropic_base_url=api.url,
            sandbox=sandbox,
            sandbox_hide=str(tmp_path) if sandbox == "auto" else "",
        )
        if name == "core dump" and sandbox == "none":
            await worker.wait()
        else:
            await room.alice.until(room.is_said("## Summary"))
        result = json.dumps(api.messages(-1)[-1])
        found = await asyncio.to_thread(kept_in, tmp_path)
        heard = "".join(str(m) for m in (*room.alice.seen, *room.controller.seen))
        secrets = (KEY, KEY[::-1], room.secrets.irc_password, TOKEN)
        for place, text in (("result", result), ("disk", found), ("room", heard)):
            assert [place for secret in secrets if secret in text] == []


def kept_in(folder: Path) -> str:
    """All files, as text; the model's own call of course holds what it wrote."""
    texts = [p.read_bytes().decode("utf-8", "replace") for p in folder.rglob("*") if p.is_file()]
    return "\n".join(texts).replace(f"echo {TOKEN}", "").replace(f"printf '%s' {TOKEN}", "")
