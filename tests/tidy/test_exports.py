"""What `gcom.__all__` lists is the public interface: all of it is there, explained, and nothing else is on show."""

from __future__ import annotations

import inspect
import types

import pytest

import gcom

NAMES: list[str] = list(getattr(gcom, "__all__", ()))


def explained(thing: object) -> bool:
    """Tell whether a class or function has words of its own; a dataclass's made-up signature does not count."""
    text = str((thing.__dict__.get("__doc__") if isinstance(thing, type) else thing.__doc__) or "")
    made_up = f"{thing.__name__}(" if isinstance(thing, type) else "\0"
    return bool(text.strip()) and not text.startswith(made_up)


def public_members(thing: type) -> list[tuple[str, object]]:
    """The methods and properties that a class itself defines under a public name."""
    plain = (types.FunctionType, property, classmethod, staticmethod)
    return [(name, member) for name, member in vars(thing).items() if name[0] != "_" and isinstance(member, plain)]


def test_the_list_is_there_and_in_order() -> None:
    assert NAMES
    assert len(NAMES) == len(set(NAMES))
    kinds = (str.isupper, lambda name: name[0].isupper(), lambda name: True)  # constants, classes, the rest
    assert sorted(NAMES, key=lambda name: ([kind(name) for kind in kinds].index(True), name)) == NAMES


def test_nothing_else_is_on_show() -> None:
    shown = {name for name, thing in vars(gcom).items() if name[0] != "_" and not inspect.ismodule(thing)}
    assert shown - {"annotations"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_there_and_explained(name: str) -> None:
    thing = getattr(gcom, name)
    if isinstance(thing, type) or inspect.isroutine(thing):
        assert explained(thing), f"gcom.{name} has no docstring"


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(getattr(gcom, name, None), type)])
def test_each_method_is_explained(name: str) -> None:
    members = public_members(getattr(gcom, name))
    assert not [f"gcom.{name}.{member} has no docstring" for member, thing in members if not explained(thing)]
