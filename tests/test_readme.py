"""The lines of Python in the README and in pages of docs are run as they stand, and print what it says they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
WATCHING = ROOT / "docs" / "watching.md"
OPERATING = ROOT / "docs" / "operating.md"
TOPICS = ROOT / "docs" / "topics.md"
LIMIT_S = 300.0
_FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[^\S\n]*$", re.MULTILINE | re.DOTALL)


def examples(text: str) -> list[tuple[str, str | None]]:
    """Each block of Python, and the block of plain text that is the next one after it, if any."""
    blocks = [(match[1], match[2]) for match in _FENCED.finditer(text)]
    following = [*blocks, ("", "")][1:]
    return [
        (code, output if kind == "text" else None)
        for (language, code), (kind, output) in zip(blocks, following, strict=True)
        if language == "python"
    ]


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh process, in an empty folder, with the defaults of somebody who set nothing."""
    program = folder / "example.py"
    program.write_text(code, "utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GCOM_", "PYTHON"))}
    return subprocess.run(
        [sys.executable, str(program)],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LIMIT_S,
    )


def test_there_is_an_example_of_the_library() -> None:
    assert any("import gcom" in code for code, _ in examples(README.read_text("utf-8")))


SHOWN = [
    example
    for page in (README, WATCHING, OPERATING, TOPICS)
    for example in examples(page.read_text("utf-8")) or [("", "")]
]


@pytest.mark.parametrize("example", SHOWN, ids=lambda _: "")
def test_the_examples_do_what_they_say(example: tuple[str, str | None], tmp_path: Path) -> None:
    code, output = example
    assert code, "a page has no block of Python"
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    if output is not None:
        assert done.stdout == output


def test_blocks_are_found() -> None:
    text = "a\n```python\nx = 1\n```\nprints\n```text\n1\n```\n```sh\nls\n```\n```python title\ny\n```\n```\nz\n```\n"
    assert examples(text) == [("x = 1\n", "1\n"), ("y\n", None)]
    assert examples("nothing") == []
