"""`Dict`: keys and values that several processes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from gcom.blocks.block import Block, BlockView
from gcom.replicated import Change, CommandApplied, MembersChanged, Refused, StateReplaced
from gcom.replicated.machine import Machine, command, query
from gcom.runtime.user_process.callbacks import check_callback

KEYS_MAX = 1_000_000


class VersionConflict(Refused):
    """A key had another version than was expected: read it, and try again."""


class DictTable(Machine):
    """Values by key, each with the version of its last change, and the process with which it ends."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[Any, int, str]] = {}

    @command
    def put(self, key: str, value: Any, expected: int | None, held: bool) -> int:
        """Set a value, if its version is the expected one; return the new version."""
        self._check(key, expected)
        if key not in self.rows and len(self.rows) >= KEYS_MAX:
            raise Refused(f"a Dict has at most {KEYS_MAX:,} keys")
        self.rows[key] = value, self.context.index, self.context.process if held else ""
        return self.context.index

    @command
    def remove(self, key: str, expected: int | None) -> bool:
        """Remove a key, if its version is the expected one; return whether it was there."""
        self._check(key, expected)
        return self.rows.pop(key, None) is not None

    def on_members(self, members: tuple[str, ...]) -> None:
        """Remove the keys whose holders are gone."""
        self.rows = {key: row for key, row in self.rows.items() if not row[2] or row[2] in members}

    @query
    def row(self, key: str) -> tuple[Any, int, str] | None:
        """Return value, version and holder of a key."""
        return self.rows.get(key)

    @query
    def items(self) -> dict[str, Any]:
        """Return all keys and values."""
        return {key: row[0] for key, row in self.rows.items()}

    def _check(self, key: str, expected: int | None) -> None:
        version = self.rows.get(key, (None, 0, ""))[1]
        if expected is not None and version != expected:
            raise VersionConflict(f"key {key!r} has version {version}, not {expected}")


def tell_key(seen: Callable[[str | None], object], change: Change) -> None:
    """Tell the key that a change was of, or None where all may have changed."""
    if isinstance(change, CommandApplied):
        if change.error is None and change.result is not False:
            seen(change.arguments[0])
    elif isinstance(change, StateReplaced | MembersChanged):
        seen(None)


class DictView(BlockView[DictTable]):
    """A dict as it is read."""

    kind = DictTable
    prefix = "dict"

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, or the default."""
        row = self._machine.row(key)
        return default if row is None else row[0]

    def version(self, key: str) -> int:
        """Return the version of a key: it rises with each change; 0: it is not there."""
        row = self._machine.row(key)
        return 0 if row is None else int(row[1])

    def items(self) -> dict[str, Any]:
        """Return a copy of all keys and values."""
        found: dict[str, Any] = self._machine.items()
        return found

    def __getitem__(self, key: str) -> Any:
        row = self._machine.row(key)
        if row is None:
            raise KeyError(key)
        return row[0]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._machine.row(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.items())

    def __len__(self) -> int:
        return len(self.items())


class Dict(DictView, Block[DictTable]):
    """Keys are texts; values are what travels in a replicated state.

        config["colour"] = "green"
        version = config.version("colour")
        config.set("colour", "blue", expected=version)     # VersionConflict if somebody was faster

    Consistency: changes are applied once, in one order for all. Reads are what this process knows: it sees its own
    changes at once, and those of others a moment later; `fresh(key)` waits for them. `set(..., held=True)` has a key
    end with this process.
    """

    def set(self, key: str, value: Any, *, expected: int | None = None, held: bool = False) -> int:
        """Set a value; return its version. `expected`: only if that is the key's version, 0 of one that is not there.

        Raises VersionConflict.
        """
        found: int = self._machine.put(key, value, expected, held)
        return found

    def delete(self, key: str, *, expected: int | None = None) -> bool:
        """Remove a key; return whether it was there. Raises VersionConflict."""
        found: bool = self._machine.remove(key, expected)
        return found

    def fresh(self, key: str, default: Any = None) -> Any:
        """Return a value with all changes that were confirmed anywhere before this call."""
        row = self._machine.fresh().row(key)
        return default if row is None else row[0]

    def watch(self, on_change: Callable[[str | None], object]) -> Callable[[], None]:
        """Call back with a key after it has changed, or with None where all may have; returns a way to end that."""
        check_callback("on_change", on_change, 1)
        end: Callable[[], None] = self._machine.replicas.watch(partial(tell_key, on_change))
        return end

    def __setitem__(self, key: str, value: Any) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        if not self.delete(key):
            raise KeyError(key)
