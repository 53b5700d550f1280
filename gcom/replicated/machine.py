"""The machine of the user's: its commands change state, the same at every replica, and its queries read it.

A machine must be deterministic: what a command does follows from the state, its arguments and `self.context` alone, and
never from the time, random numbers, files or the order of a set.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass
from enum import Enum
from typing import Any, NamedTuple, Self, TypeVar

from gcom.errors import BadValue
from gcom.replicated.errors import CommandRefused
from gcom.replicated.submission import Submission
from gcom.replicated.values import ValueCodec

F = TypeVar("F", bound=Callable[..., Any])
_ROLE = "_gcom_role"
_HERE = "_context"  # the one attribute that is no state


def command(method: F) -> F:
    """Mark a method that changes state: it is applied once, in one order, at every replica."""
    setattr(method, _ROLE, "command")
    return method


def query(method: F) -> F:
    """Mark a method that reads state, and changes nothing."""
    setattr(method, _ROLE, "query")
    return method


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The circumstances of the command that runs, the same at every replica."""

    index: int  # of the command in the log: it only rises, so it serves as a fencing token
    process: str  # the caller's, name#incarnation
    members: tuple[str, ...]  # processes in the view, oldest first, as the last `on_members` said

    @property
    def member(self) -> str:
        """The caller's name."""
        return self.process.partition("#")[0]


class Machine:
    """A state that is replicated: derive from it, mark commands and queries, and open it.

    The object that `gcom.replicated.open` returns has the same methods, which act on all replicas; `submit`, `fresh`,
    `within`, `close` and `replicas` are of that object alone.
    """

    @property
    def context(self) -> CommandContext:
        """The circumstances of the command that runs; within a command or `on_members` only."""
        found: CommandContext | None = vars(self).get(_HERE)
        if found is None:
            raise BadValue("context is there within a command or on_members alone")
        return found

    def on_members(self, members: tuple[str, ...]) -> None:
        """Take note that these processes are in the view, oldest first: called at every replica, as a command is."""

    def snapshot(self) -> Any:
        """Return the state as a value; as it stands, a dict of the attributes."""
        return {name: value for name, value in vars(self).items() if name != _HERE}

    def restore(self, state: Any) -> None:
        """Take the place of a state that `snapshot` returned; called on a new machine."""
        vars(self).clear()
        vars(self).update(state)

    # of the object that `open` returns

    @property
    def submit(self) -> Submission:
        """Return a caller that does not wait: each command through it returns a Future, each query a fresh one."""
        raise _only_opened("submit")

    def fresh(self) -> Self:
        """Return this state with queries that see all that was confirmed, anywhere, before they were called."""
        raise _only_opened("fresh")

    def within(self, timeout_s: float | None) -> Self:
        """Return this state with another time that a command or a fresh query waits."""
        raise _only_opened("within")

    @property
    def replicas(self) -> Any:
        """The replicated state itself: `gcom.replicated.ReplicatedState`."""
        raise _only_opened("replicas")

    def close(self) -> None:
        """Leave the group. May be called again."""
        raise _only_opened("close")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


RESERVED = frozenset(name for name in vars(Machine) if name[0] != "_")


def _only_opened(name: str) -> BadValue:
    return BadValue(f"{name} is of the object that gcom.replicated.open returned; a machine calls its methods itself")


class MethodSignature(NamedTuple):
    """The parameters of a command or query; `simple`: each may be given by position."""

    signature: inspect.Signature
    parameters: tuple[str, ...]
    simple: bool

    @classmethod
    def of(cls, method: Callable[..., Any]) -> MethodSignature:
        """Inspect a method."""
        signature = inspect.signature(method)
        kinds = {it.kind for it in signature.parameters.values()}
        simple = kinds <= {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
        return cls(signature, tuple(signature.parameters), simple)


@dataclass(frozen=True, slots=True)
class MachineKind:
    """A class of machines as replicas need it: its methods by name, and the bytes of its values."""

    build: Callable[[], Machine]
    kind: type[Machine]
    commands: dict[str, Callable[..., Any]]
    queries: dict[str, Callable[..., Any]]
    codec: ValueCodec
    signatures: dict[str, MethodSignature]

    @property
    def name(self) -> str:
        """Return the name of the class: a state of another one is not taken."""
        return self.kind.__qualname__

    @classmethod
    def of(cls, build: Callable[[], Machine]) -> MachineKind:
        """Inspect a class, or a function that makes machines; raises BadValue."""
        made = build()
        kind = type(made)
        if not isinstance(made, Machine):
            raise BadValue(f"a replicated state needs a gcom.replicated.Machine; {build!r} made {made!r}")
        roles = {name: getattr(thing, _ROLE, "") for name, thing in inspect.getmembers(kind, callable)}
        taken = sorted(name for name, role in roles.items() if role and (name in RESERVED or name[0] == "_"))
        if taken:
            raise BadValue(f"{kind.__name__}.{taken[0]} cannot be a command or query: that name is taken, or private")
        found = {role: {it: getattr(kind, it) for it in roles if roles[it] == role} for role in ("command", "query")}
        for name, method in (found["command"] | found["query"]).items():
            if inspect.iscoroutinefunction(method) or inspect.isgeneratorfunction(method):
                raise BadValue(f"{kind.__name__}.{name} must be a plain method: no async def, and no yield")
        codec = ValueCodec(_classes(kind))
        codec.pack(made.snapshot())  # now, and not when somebody joins: an attribute that cannot travel
        signatures = {name: MethodSignature.of(it) for name, it in (found["command"] | found["query"]).items()}
        return cls(build, kind, found["command"], found["query"], codec, signatures)

    def check(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Raise TypeError for arguments that the method does not take."""
        signature = self.signatures.get(name)
        if signature is None:
            raise AttributeError(f"{self.name} has no command or query {name!r}")
        # The usual case, without a tenth of what a command costs: as many as there are parameters, all by position.
        if keywords or len(arguments) != len(signature.parameters) - 1 or not signature.simple:
            signature.signature.bind(None, *arguments, **keywords)

    def state_of(self, machine: Machine) -> bytes:
        """Return a machine's state as bytes; raises BadValue."""
        return self.codec.pack(machine.snapshot())

    def machine_of(self, state: bytes) -> Machine:
        """Return a new machine that has a state."""
        machine = self.build()
        machine.restore(self.codec.unpack(state))
        return machine

    def enter(self, machine: Machine, context: CommandContext | None) -> None:
        """Say in which circumstances the machine runs."""
        vars(machine)[_HERE] = context


def _classes(kind: type) -> Iterator[type]:
    """The dataclasses, enums and refusals that the modules of a machine know at their top level."""
    yield CommandRefused
    for module in {base.__module__ for base in kind.__mro__} - {"builtins", Machine.__module__}:
        for thing in vars(sys.modules[module]).values():
            if isinstance(thing, type) and (is_dataclass(thing) or issubclass(thing, Enum | CommandRefused)):
                yield thing
