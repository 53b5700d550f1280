"""Few files name an ordering: all others ask what it promises, so that one more ordering changes none of them."""

from __future__ import annotations

import ast

from gcom.audit.rules.table import RULES
from gcom.values.definition import Ordering
from tests.tidy.source import Source, sources

# ARCHITECTURE, To add an ordering.
LISTS = {"gcom/values/definition.py", "gcom/runtime/api/node.py", "gcom/core/ordering/orderer.py"}
# How many each: two benches have an order of their own.
DEFAULTS = {"gcom/bench/audit/logs.py": 1, "gcom/bench/performance/plan.py": 1, "gcom/bench/settings.py": 2}
WORDS = set(Ordering) - set(RULES)  # FIFO, CAUSAL and TOTAL as texts are rules


def _named(source: Source) -> set[str]:
    """Return the orderings that a file names, as members of the enum or in a text of their own."""
    found: set[str] = set()
    for node in source.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id="Ordering"), attr=name) if name in Ordering.__members__:
                found.add(name)
            case ast.Constant(value=str(text)) if text in WORDS:
                found.add(text)
    return found


def test_orderings_are_listed_in_few_files() -> None:
    """But for the chat, an application, which has words, a badge and a panel for each."""
    named = {
        source.path.as_posix(): found
        for source in sources("gcom", "registry/gcom_registry")
        if (found := _named(source))
    }
    assert set(named) == LISTS | set(DEFAULTS)
    assert {path: len(named[path]) for path in DEFAULTS} == DEFAULTS
