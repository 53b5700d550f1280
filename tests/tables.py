"""The state tables of docs/protocols, taken from the code; `make notes` (python -m tests.tables) writes them.

A machine has an enum of its states, a table of what may follow each, and methods that enter them through `_become`,
which asserts the table. So the table is the code's own; what a state means is the comment beside its name. Between the
markers in a note stands what is read here, and tests/tidy/test_tables.py holds that it still does.
"""

from __future__ import annotations

import ast
import inspect
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from io import StringIO
from types import ModuleType

from gcom.core import links
from gcom.core import machine as group_machine
from gcom.core.detector import suspicion, watch
from gcom.core.directory import witness
from gcom.core.membership import consensus
from gcom.core.multicast import reliable
from gcom.core.ordering import agreement
from gcom.core.state_transfer import transfer
from gcom.core.unicast import channel
from tests import layout
from tests.tidy import words
from tests.tidy.source import ROOT

BEGIN, END = "<!-- states: {} -->", "<!-- end of states -->"


@dataclass(frozen=True)
class Machine:
    """`table`, in `module`, says what may follow each state; `note` has it."""

    note: str
    module: ModuleType
    table: str
    kept_in: ModuleType | None = None  # the module that has the table, where it is another

    @property
    def follows(self) -> dict[Enum, tuple[Enum, ...]]:
        found: dict[Enum, tuple[Enum, ...]] = getattr(self.kept_in or self.module, self.table)
        return found

    @property
    def states(self) -> type[Enum]:
        return type(next(iter(self.follows)))

    @property
    def entered(self) -> dict[Enum, list[str]]:
        """By which methods each state is entered, the initial one by none at first."""
        found: dict[Enum, list[str]] = {state: [] for state in self.states}
        for where, call in _becomes(self.module):
            for node in ast.walk(call):
                match node:
                    case ast.Attribute(value=ast.Name(id=name), attr=attr) if name == self.states.__name__:
                        found[self.states[attr]].append(where)
        return {state: list(dict.fromkeys(where)) for state, where in found.items()}

    def render(self) -> str:
        """The table of the note."""
        meanings = _comments(self.states)
        rows = ["| state | means | may become | entered in |", "|---|---|---|---|"]
        for state, following in self.follows.items():
            then = ", ".join(other.name for other in following) or "—"
            where = ", ".join(f"`{name}`" for name in self.entered[state]) or "—"
            rows.append(f"| {state.name} | {meanings[state.name]} | {then} | {where} |")
        return "\n".join([BEGIN.format(self.place), "", *rows, "", END])

    @property
    def place(self) -> str:
        return f"{(self.kept_in or self.module).__name__.rpartition('.')[2]}.{self.table}"


MACHINES = (
    Machine("view_change", consensus, "TRANSITIONS"),
    Machine("detector", suspicion, "TRUSTS", watch),
    Machine("group", group_machine, "STAGES"),
    Machine("unicast", channel, "PACES"),
    Machine("link", links, "READINESS"),
    Machine("multicast", reliable, "PHASES"),
    Machine("netsplit", witness, "VOTES"),
    Machine("order", agreement, "SERVICES"),
    Machine("state", transfer, "STANDINGS"),
)


def _becomes(module: ModuleType) -> Iterator[tuple[str, ast.Call]]:
    """Each call that enters a state, and in which method it stands."""
    for cls in [node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ClassDef)]:
        for method in [node for node in cls.body if isinstance(node, ast.FunctionDef)]:
            for node in ast.walk(method):
                match node:
                    case ast.Call(func=ast.Attribute(attr="become" | "_become")):
                        yield f"{cls.name}.{method.name}", node


def _comments(states: type[Enum]) -> dict[str, str]:
    """The comment beside each member of an enum."""
    found: dict[str, str] = {}
    name = ""
    for token in tokenize.generate_tokens(StringIO(inspect.getsource(states)).readline):
        if token.type == tokenize.NAME and token.line.lstrip().startswith(f"{token.string} ="):
            name = token.string
        elif token.type == tokenize.COMMENT and name:
            found[name] = token.string.removeprefix("#").strip()
    return found


def block(text: str, machine: Machine) -> str | None:
    """Return the text in a note for a machine, its markers included."""
    found = re.search(f"{re.escape(BEGIN.format(machine.place))}.*?{re.escape(END)}", text, re.DOTALL)
    return found[0] if found else None


def main() -> None:
    """Bring the notes, the tree in docs/ARCHITECTURE.md, and the record of long texts up to date."""
    layout.write()
    words.lower()
    for machine in MACHINES:
        path = ROOT / "docs" / "protocols" / f"{machine.note}.md"
        text = path.read_text("utf-8")
        old = block(text, machine)
        assert old is not None, f"{path.name} has no place for {machine.place}: {BEGIN.format(machine.place)} … {END}"
        path.write_text(text.replace(old, machine.render()), "utf-8")


if __name__ == "__main__":
    main()
