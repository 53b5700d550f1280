"""`python -m gcom.bench.processes MODULE:FUNCTION`: call a function with the arguments of the parent's first order."""

from __future__ import annotations

import sys
from importlib import import_module

from gcom.bench.processes import child


def main() -> None:
    module, _, function = sys.argv[1].partition(":")
    arguments = child.hear("run")
    del arguments["say"]
    getattr(import_module(module), function)(**arguments)
    child.end()


if __name__ == "__main__":
    main()
