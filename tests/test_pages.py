"""Each block of Python in the README and in docs runs as it stands, and prints what its page says that it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidy.source import ROOT

README = ROOT / "README.md"
README_WORDS_MAX = 1_200
LIMIT_S = 300.0
_FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[^\S\n]*$", re.MULTILINE | re.DOTALL)


def examples(text: str) -> list[tuple[str, str | None]]:
    """Return each block of Python, with the block of plain text that is the next one after it, if any."""
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


# Their blocks need logs, or a session of Spark, which other tests give them.
ELSEWHERE = {"docs/audit-queries.md": "tests/audit/queries.py", "docs/audit-python.md": "tests/audit/test_python.py"}


def pages() -> list[Path]:
    """Return the pages that have a block of Python which runs by itself."""
    found = (README, *sorted((ROOT / "docs").rglob("*.md")))
    here = [path for path in found if path.relative_to(ROOT).as_posix() not in ELSEWHERE]
    return [path for path in here if examples(path.read_text("utf-8"))]


SHOWN = [
    # Each takes a second of its own process, so `make check` runs those of README alone.
    pytest.param(example, id=f"{page.relative_to(ROOT)}-{place}", marks=() if page == README else pytest.mark.slow)
    for page in pages()
    for place, example in enumerate(examples(page.read_text("utf-8")), 1)
]


@pytest.mark.parametrize("example", SHOWN)
def test_the_examples_do_what_they_say(example: tuple[str, str | None], tmp_path: Path) -> None:
    code, output = example
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    if output is not None:
        assert done.stdout == output


def test_other_tests_run_the_blocks_of_the_other_pages() -> None:
    assert all(Path(page).name in (ROOT / test).read_text("utf-8") for page, test in ELSEWHERE.items())


def test_the_pages_that_newcomers_read_have_examples() -> None:
    named = {path.relative_to(ROOT).as_posix() for path in pages()}
    assert {"README.md", "docs/index.md", "docs/concepts/orderings.md", "docs/tutorial/3-program.md"} <= named


def test_the_readme_is_short() -> None:
    assert len(README.read_text("utf-8").split()) <= README_WORDS_MAX


def test_blocks_are_found() -> None:
    text = "a\n```python\nx = 1\n```\nprints\n```text\n1\n```\n```sh\nls\n```\n```python title\ny\n```\n```\nz\n```\n"
    assert examples(text) == [("x = 1\n", "1\n"), ("y\n", None)]
    assert examples("nothing") == []
