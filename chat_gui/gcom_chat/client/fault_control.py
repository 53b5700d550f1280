"""Puts faults into the calls of the chat's node, in a thread of its own, since names of hosts are looked up for it.

A node has faults in its own calls alone. Other processes have the same ones where all follow one file
(`GCOM_FAULTS=@FILE`): then the file is replaced as well, so that a cut is a cut from both sides.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gcom
from gcom_chat.model.texts.words import translate

VARIABLE = "GCOM_FAULTS"


def shared_file() -> Path | None:
    """Return the file of faults that this process was told to follow, if any."""
    text = os.environ.get(VARIABLE, "")
    return Path(text[1:]) if text.startswith("@") else None


def without_faults() -> dict[str, str]:
    """Return this process's environment without its faults, for groups of their own."""
    return {name: value for name, value in os.environ.items() if name != VARIABLE}


class FaultControl:
    """`find` returns the node; `tell` is told what became of each wish: empty, or why it was refused."""

    def __init__(self, find: Callable[[], gcom.Node | None], tell: Callable[[str], None]) -> None:
        self._find, self._tell = find, tell
        # One thread: wishes take effect in the order in which they were made.
        self._jobs = ThreadPoolExecutor(1, "chat faults")

    def put(self, faults: gcom.Faults) -> None:
        """Have these faults from now on."""
        self._jobs.submit(self._put, faults)

    def close(self) -> None:
        """Take nothing more."""
        self._jobs.shutdown(wait=False)

    def _put(self, faults: gcom.Faults) -> None:
        self._tell(self._try(faults))

    def _try(self, faults: gcom.Faults) -> str:
        node = self._find()
        if node is None:
            return translate("faults", "this chat is not connected: connect to a registry first")
        try:
            # First: faults that this node refuses are not written for the others.
            node.inject(faults)
            if file := shared_file():
                # Replaced whole, for the processes that follow the file may read it at any moment.
                fresh = file.with_name(f"{file.name}.new")
                fresh.write_text("" if str(faults) == "none" else str(faults), "utf-8")
                fresh.replace(file)
        except gcom.GComError as error:
            return str(error)
        except OSError as error:
            return translate("faults", "cannot write {}: {}").format(error.filename, error.strerror)
        return ""
