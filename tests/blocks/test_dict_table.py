"""The table of a `Dict` beside a plain dict: values, versions, refusals, and keys that end with their holder."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gcom.blocks.dict import DictTable, VersionConflict
from gcom.replicated import CommandContext
from gcom.replicated.machine import MachineKind

KIND = MachineKind.of(DictTable)
PROCESSES = ("a#1", "b#1", "c#1")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "hold", "remove", "leave", "move"]),
        st.sampled_from(PROCESSES),
        st.sampled_from(["x", "y", "z"]),
        st.sampled_from(["any", "right", "stale", "absent"]),  # the version that is expected
    ),
    max_size=50,
)


class Twin:
    """The value, version and holder that each key should have."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[Any, int, str]] = {}

    def version(self, key: str) -> int:
        return self.rows[key][1] if key in self.rows else 0

    def expected(self, key: str, wanted: str) -> int | None:
        return {"any": None, "right": self.version(key), "stale": self.version(key) + 1_000, "absent": 0}[wanted]

    def do(self, name: str, process: str, key: str, expected: int | None, index: int) -> object:
        if expected not in (None, self.version(key)):
            return VersionConflict
        if name == "remove":
            return self.rows.pop(key, None) is not None
        self.rows[key] = (index, index, process if name == "hold" else "")
        return index


def done(table: DictTable, name: str, key: str, expected: int | None, value: int) -> object:
    """Return the result of a command, or the type of its refusal."""
    try:
        if name == "remove":
            return table.remove(key, expected)
        return table.put(key, value, expected, name == "hold")
    except VersionConflict:
        return VersionConflict


@given(STEPS)
def test_it_is_as_a_dict_with_versions_and_holders(steps: list[tuple[str, str, str, str]]) -> None:
    table, twin = DictTable(), Twin()
    for index, (name, process, key, wanted) in enumerate(steps, start=1):
        KIND.enter(table, CommandContext(index, process, PROCESSES))
        if name == "move":  # a newcomer is given the state
            moved = KIND.machine_of(KIND.state_of(table))
            assert isinstance(moved, DictTable)
            table = moved
        elif name == "leave":
            table.on_members(tuple(it for it in PROCESSES if it != process))
            twin.rows = {it: row for it, row in twin.rows.items() if row[2] != process}
        else:
            expected = twin.expected(key, wanted)
            found = done(table, name, key, expected, index)
            assert found == twin.do(name, process, key, expected, index)
        assert {it: table.row(it) for it in "xyz"} == {it: twin.rows.get(it) for it in "xyz"}
        assert table.items() == {it: row[0] for it, row in twin.rows.items()}
