"""The threat table of docs/SECURITY.md: each row names tests that are there, or says that it is not defended."""

from __future__ import annotations

import ast
import re

import pytest

from tests.tidy.source import ROOT

NOT_DEFENDED = "not defended"
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in (ROOT / "docs" / "SECURITY.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| who ")
]


def test_it_is_read() -> None:
    assert len(ROWS) > 30


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[1]}")
def test_a_row_names_its_tests(row: list[str]) -> None:
    _, _, happens, shown = row
    if shown == NOT_DEFENDED:
        assert happens.startswith(NOT_DEFENDED)
        return
    for name in shown.split(", "):
        found = re.fullmatch(r"([a-z_/]+\.py)::(test_[a-z0-9_]+)", name)
        assert found, f"{name} is no test"
        tree = ast.parse((ROOT / "tests" / found[1]).read_text("utf-8"))
        assert found[2] in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, name
