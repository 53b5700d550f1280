"""Questions to the person at the terminal, or to what stands on standard input in its place."""

from __future__ import annotations

import getpass
import sys

from gcom.cli.output import notice

LINE_CHARS_MAX = 4096  # what a terminal takes as one line


def is_confirmed(word: str, what: str) -> bool:
    """Ask for a word, which is `what`; return whether it was typed."""
    notice(f"to go on, type {what} ({word}):")
    # The word and not "y": the operator must have read which thing it is.
    return sys.stdin is not None and sys.stdin.readline().strip() == word


def secret_line(prompt: str) -> str:
    """Return one line of standard input; at a terminal it is asked for, and not shown as it is typed."""
    if sys.stdin is None:
        return ""
    if sys.stdin.isatty():
        try:
            return getpass.getpass(prompt, stream=sys.stderr).strip()
        except EOFError:
            return ""
    return sys.stdin.readline(LINE_CHARS_MAX).strip()
