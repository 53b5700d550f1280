"""The public interface is what `gcom.__all__` lists: all of it is there, explained, and nothing else is on show."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import ForwardRef, Literal, get_args, get_type_hints

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
    assert shown - {"annotations", "TYPE_CHECKING", "import_module"} <= set(NAMES)


def test_names_that_wait_for_their_first_use_are_where_the_type_checker_looks() -> None:
    """The table of homes and the imports of the type checker are two lists of the same thing."""
    tree = ast.parse(Path(str(gcom.__file__)).read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name))
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    homes = {alias.asname or alias.name: node.module for node in imports for alias in node.names}
    assert vars(gcom)["_HOMES"] == homes


def test_an_import_of_gcom_leaves_the_runtime_for_later() -> None:
    """A script that names an error or a definition must not wait for sockets, Pyro5 and the protocols."""
    code = "import sys, gcom; print({'gcom.runtime', 'gcom.core', 'Pyro5', 'msgpack'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "set()"


def test_packages_of_the_library_are_there_without_an_import_of_their_own() -> None:
    code = "import gcom; print(gcom.replicated.Machine.__name__, gcom.topics.open.__name__)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.split() == ["Machine", "open"]


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        getattr(gcom, "nonsense")  # noqa: B009


@pytest.mark.parametrize("name", NAMES)
def test_each_is_there_and_explained(name: str) -> None:
    thing = getattr(gcom, name)
    if isinstance(thing, type) or inspect.isroutine(thing):
        assert explained(thing), f"gcom.{name} has no docstring"


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(getattr(gcom, name, None), type)])
def test_each_method_is_explained(name: str) -> None:
    members = public_members(getattr(gcom, name))
    assert not [f"gcom.{name}.{member} has no docstring" for member, thing in members if not explained(thing)]


SHOWN = {
    gcom.Node: "address close create directory faults groups info inject join name refused remove timeout_s "
    "unregistered",
    gcom.Group: "call call_to definition events flush instance leave listen members name on_call pending process "
    "receipt receive send send_many send_to snapshot view wait_for_members wait_for_state watch",
}
EXTERNAL = "Callable Counter Iterable Iterator Literal Mapping Path Self TracebackType"
PLAIN = {*vars(builtins), *EXTERNAL.split(), "Embedded"}  # made by gcom.embedded alone
REGISTRYS = ("Directory", "GroupInfo")  # the same classes serve the registry, in whose words they are annotated


@pytest.fixture(scope="module")
def held() -> Iterator[dict[type, object]]:
    """A node and a group, as an application holds them."""
    with gcom.embedded() as registry, gcom.connect("alice", registry.address) as node:
        yield {gcom.Node: node, gcom.Group: node.join("news", create=gcom.Definition("news"))}


@pytest.mark.parametrize("kind", SHOWN, ids=lambda kind: kind.__name__)
def test_they_show_nothing_of_the_machine_room(kind: type, held: dict[type, object]) -> None:
    assert sorted(name for name in dir(held[kind]) if name[0] != "_") == SHOWN[kind].split()


def text_of(annotation: object) -> str:
    return annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else str(annotation)


def annotations_of(thing: object) -> Iterator[str]:
    """Yield the annotations that help() shows: of a function, or of a class's fields and public methods."""
    if isinstance(thing, type):
        for base in thing.__mro__:
            if base.__module__.startswith("gcom."):
                fields = vars(base).get("__annotations__", {})
                yield from (text_of(found) for name, found in fields.items() if name[0] != "_")
                for _, member in public_members(base):
                    yield from annotations_of(member)
    elif isinstance(thing, property):
        yield from annotations_of(thing.fget)
    elif inspect.isfunction(thing):
        yield from map(str, thing.__annotations__.values())


def words_of(annotation: str) -> set[str]:
    """The names in an annotation; what a Literal lists is no name."""
    return {node.id for node in ast.walk(ast.parse(annotation)) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in REGISTRYS])
def test_help_names_only_what_is_exported(name: str) -> None:
    """An alias of the library's own hides what may be given, and what comes."""
    found = {word for text in annotations_of(getattr(gcom, name)) for word in words_of(text)}
    assert {word.lstrip("_") for word in found} <= PLAIN | set(NAMES)


KINDS = {
    "ordering": gcom.Ordering,
    "multicast": gcom.Multicast,
    "netsplit": gcom.Netsplit,
    "tie_breaker": gcom.TieBreaker,
}


@pytest.mark.parametrize("parameter", KINDS)
@pytest.mark.parametrize("function", [gcom.Node.create, gcom.Definition.__init__], ids=lambda it: it.__qualname__)
def test_a_name_that_is_misspelt_fails_the_type_checker(function: object, parameter: str) -> None:
    """The literals in a signature are the members of the enum: mypy refuses any other."""
    kind = KINDS[parameter]
    assert set(get_args(get_type_hints(function)[parameter])) == {kind, Literal[tuple(kind.__members__)]}


def test_reprs_are_plain(held: dict[type, object]) -> None:
    node, group = held[gcom.Node], held[gcom.Group]
    assert re.fullmatch(r"<gcom.Node 'alice' at 127.0.0.1:\d+, registry 127.0.0.1:\d+>", repr(node))
    assert re.fullmatch(r"<gcom.Group 'news' as alice#[0-9a-f]{8}, view 1: alice>", repr(group))
    message = gcom.Message("alice#1", 1, 1, "hi")
    words = "sender='alice#1', number=1, view=1, payload='hi', serial=None, instance='', past=None"
    assert repr(message) == f"Message({words})"
    for event in get_args(gcom.Event):
        assert event.__name__ in NAMES
        assert getattr(gcom, event.__name__) is event
