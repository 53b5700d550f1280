"""Run a module, and end it when standard input ends: `python -m gcom.bench.processes.parent_watchdog MODULE ...`.

A program that starts processes may get SIGKILL, on which it can end nothing itself. The kernel then closes its end of
the pipe, so a process under this watchdog never outlives it. A module that reads standard input itself needs none.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading

STOP_S = 5.0  # a module that has not stopped this long after SIGTERM is ended


def main() -> None:
    """Watch for the end of standard input, and run the module that the command line names."""
    threading.Thread(target=_watch, name="parent watchdog", daemon=True).start()
    # As if the module had been started by itself: it parses its own command line.
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _watch() -> None:
    while os.read(0, 4096):
        pass
    # SIGTERM first: the registry closes its database in good order.
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(STOP_S)
    # `_exit`: this is not the main thread, where sys.exit would end the process.
    os._exit(1)


if __name__ == "__main__":
    main()
