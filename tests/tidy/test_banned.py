"""Banned here: to run what a peer sent, swallow every error, sleep or patch time in tests, leave a stub."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.source import FOLDERS, PACKAGES, ROOT, Source, sources

UNSAFE_MODULES = frozenset(["pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle"])
UNSAFE_CALLS = frozenset(("eval", "exec", "__import__"))
OUTERMOST = "# outermost:"
UNFINISHED = re.compile(r"\b(?:TO{0}DO|FIX{0}ME|X{3}|NotImplemented{0}Error)\b".replace("{0}", ""))
PROSE = (".py", ".md", ".toml", ".sh", ".yml", ".yaml", ".cfg")
CODE = sources(*FOLDERS)
SHIPPED = sources(*PACKAGES, ".ci")
TESTS = sources("tests")


def texts() -> list[Path]:
    """Every text file of the project but this one, which has to spell the words out."""
    found = [path for folder in (*FOLDERS, "docs") for path in (ROOT / folder).rglob("*") if path.suffix in PROSE]
    top = [path for path in ROOT.iterdir() if path.suffix in PROSE or path.name == "Makefile"]
    return sorted(path for path in found + top if path != Path(__file__))


def catches_everything(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler is bare or names `Exception` or its base, alone or in a tuple."""
    named = ast.walk(handler.type) if handler.type else []
    names = {node.id for node in named if isinstance(node, ast.Name)}
    return handler.type is None or bool(names & {"Exception", "BaseException"})


def swallowed(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler) and catches_everything(node) and not is_outermost(source, node):
            yield f"{source.at(node)} catches everything; only a thread's outermost loop may, with `{OUTERMOST} why`"


def is_outermost(source: Source, handler: ast.ExceptHandler) -> bool:
    return OUTERMOST in source.lines[handler.lineno - 1]


def unsafe(source: Source) -> Iterator[str]:
    for found in source.imports:
        if found.module.partition(".")[0] in UNSAFE_MODULES:
            yield f"{source.path}:{found.line} imports {found.module}"
    for node in source.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in UNSAFE_CALLS:
            yield f"{source.at(node)} calls {node.func.id}"


def plays_with_time(source: Source) -> Iterator[str]:
    """Find sleeps, by whatever name, and replacements of anything in the module `time`."""
    for node in source.nodes:
        match node:
            case ast.Attribute(attr="sleep") | ast.Name(id="sleep") | ast.alias(name="sleep"):
                yield f"{source.at(node)} sleeps: wait until a condition holds, with a limit"
            case ast.Call(func=ast.Attribute(attr="setattr" | "patch" | "object"), args=[first, *_]) if is_time(first):
                yield f"{source.at(node)} patches time: the core takes `now_ms`"


def judges_by_time(source: Source) -> Iterator[str]:
    """Find asserted durations: a limit may end a wait, but how long something took depends on what else is running."""
    for node in source.nodes:
        if isinstance(node, ast.Assert) and any(is_duration(part) for part in ast.walk(node.test)):
            yield f"{source.at(node)} asserts how long something took"


def is_duration(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Sub(), left=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return name in ("monotonic", "perf_counter", "time")
    return False


def is_time(node: ast.expr) -> bool:
    match node:
        case ast.Name(id="time"):
            return True
        case ast.Constant(value=str(text)):
            return text.split(".")[0] == "time" or ".time." in text
    return False


def test_nothing_runs_what_it_was_sent() -> None:
    assert [found for source in CODE for found in unsafe(source)] == []


def test_errors_are_caught_by_name() -> None:
    assert [found for source in SHIPPED for found in swallowed(source)] == []


def test_tests_wait_for_conditions() -> None:
    assert [found for source in TESTS for found in plays_with_time(source)] == []


def test_tests_assert_no_duration() -> None:
    assert [found for source in TESTS for found in judges_by_time(source)] == []


def test_nothing_is_left_unfinished() -> None:
    lines = [(path, *line) for path in texts() for line in enumerate(path.read_text("utf-8").splitlines(), 1)]
    assert [f"{path}:{number} {line}" for path, number, line in lines if UNFINISHED.search(line)] == []


def test_no_merge_is_left_half_done() -> None:
    marked = [path for path in texts() if re.search(r"^(?:<{7} |>{7} )", path.read_text("utf-8"), re.MULTILINE)]
    assert marked == []


def test_the_lock_names_no_place_to_fetch_from() -> None:
    lines = (ROOT / ".ci" / "requirements.lock").read_text().splitlines()
    assert not [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[A-Za-z0-9.+!]+(?: ; .+)?", line)]


def test_the_image_installs_only_what_has_a_hash() -> None:
    told = (ROOT / ".ci" / "registry.lock").read_text()
    hashes = r"(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+"
    pinned = re.findall(rf"^([a-z0-9-]+==[A-Za-z0-9.+!]+)(?: ; .+)? \\\n{hashes}", told, re.MULTILINE)
    lines = [line for line in told.splitlines() if not line.startswith("    --hash")]
    assert len(pinned) == len(lines) > 10
    # The same versions as developers have, so that what was tested is what runs.
    locked = (ROOT / ".ci" / "requirements.lock").read_text()
    assert [it for it in pinned if f"\n{it.partition('==')[0]}==" in locked and it not in locked] == []
    recipe = (ROOT / "docs" / "operations" / "Containerfile").read_text()
    assert "--require-hashes --requirement /src/.ci/registry.lock" in recipe
    installs = [line for line in recipe.splitlines() if "pip install" in line]
    assert all("--require-hashes" in line or "--no-deps" in line for line in installs)


@pytest.mark.parametrize(
    ("check", "code", "count"),
    [
        (swallowed, "try:\n    pass\nexcept Exception:\n    pass", 1),
        (swallowed, "try:\n    pass\nexcept (OSError, BaseException) as error:\n    pass", 1),
        (swallowed, "try:\n    pass\nexcept:\n    pass", 1),
        (swallowed, "try:\n    pass\nexcept Exception:  # outermost: a thread must not end unseen\n    pass", 0),
        (swallowed, "try:\n    pass\nexcept OSError:\n    pass", 0),
        (unsafe, "def f():\n    from pickle import loads", 1),
        (unsafe, "eval('1')", 1),
        (unsafe, "import re\nre.compile('1')", 0),
        (plays_with_time, "import time as t\nt.sleep(1)", 1),
        (plays_with_time, "from time import sleep", 1),
        (plays_with_time, "monkeypatch.setattr(time, 'monotonic', f)", 1),
        (plays_with_time, "monkeypatch.setattr('gcom.runtime.api.node.time.monotonic', f)", 1),
        (plays_with_time, "condition.wait(timeout=1)", 0),
        (judges_by_time, "assert monotonic() - began < 2", 1),
        (judges_by_time, "assert 0 < time.monotonic() - began", 1),
        (judges_by_time, "assert monotonic() < deadline, 'never'", 0),
    ],
)
def test_the_checks_themselves(check: object, code: str, count: int) -> None:
    assert callable(check)
    assert len(list(check(Source(Path("example.py"), code)))) == count


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "X" * 3, "NotImplemented" + "Error"])
def test_unfinished_words_are_known(word: str) -> None:
    assert UNFINISHED.search(f"# {word}: later")
    assert not UNFINISHED.search(word + "ED")
