"""`python -m gcom.bench.processes MODULE:NAME`: a child whose part is an object, which obeys the parent's orders.

NAME is a class, or a function that returns the object or a context with it; the parent's first order has the arguments.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module

from gcom.bench.processes import child


def main() -> None:
    """Make the object, and obey by it."""
    module, _, name = sys.argv[1].partition(":")
    arguments = child.hear("run")
    del arguments["say"]
    made = getattr(import_module(module), name)(**arguments)
    with made if isinstance(made, AbstractContextManager) else nullcontext(made) as obeying:
        child.obey(obeying)
    child.end()


if __name__ == "__main__":
    main()
