"""Names that look like another's. The library's names are ASCII, so what remains is case, and signs of one look.

After the skeletons of Unicode Technical Standard 39, §4, for the signs that a name may have.
"""

from __future__ import annotations

from collections.abc import Iterable

_SAME_LOOK = str.maketrans({"1": "l", "i": "l", "0": "o", "5": "s", "8": "b", "2": "z", "-": "_", ".": "_"})


def skeleton(name: str) -> str:
    """Return what all names of one look have in common."""
    return name.casefold().replace("rn", "m").replace("vv", "w").replace("cl", "d").translate(_SAME_LOOK)


def imitated(name: str, others: Iterable[str]) -> str:
    """Return the first of the other names that a name looks like without being it; empty: none."""
    look = skeleton(name)
    return next((other for other in others if other != name and skeleton(other) == look), "")
