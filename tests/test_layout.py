"""The size budget and the guards of bare import names (CONTRIBUTING.md)."""

import ast
import importlib
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("controller", "worker", "shared")
SOURCES = sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))
LONGEST_MODULE = 300
LONGEST_FUNCTION = 60


@pytest.mark.parametrize("name", PACKAGES)
def test_a_bare_import_name_resolves_inside_the_checkout(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__file__ is not None
    assert Path(module.__file__).resolve().parent == ROOT / name


def test_no_module_is_longer_than_the_ceiling() -> None:
    lines = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in SOURCES}
    assert {name: n for name, n in lines.items() if n > LONGEST_MODULE} == {}
    assert median(lines.values()) <= 180


def test_no_function_is_longer_than_the_ceiling() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > LONGEST_FUNCTION
    }
    assert long == set()
