"""Pages of a list of groups: an answer must fit a frame, so a list comes in several."""

from __future__ import annotations

from collections.abc import Iterable

from gcom.core.messages.registry import Entries, GroupInfo
from gcom.values import limits

# What the entries of one answer may weigh, roughly in bytes, so that the answer fits a frame.
PAGE_BYTES = limits.FRAME_BYTES_MAX // 2  # the weight is an estimate; half leaves room for it to be wrong


def page(entries: Iterable[GroupInfo]) -> Entries:
    """Return as many of the entries as fit one answer, and whether there are more."""
    fitting: list[GroupInfo] = []
    weight = 0
    for entry in entries:
        weight += _weight(entry)
        # At least one per page, or a list would never come to its end.
        if fitting and weight > PAGE_BYTES:
            return Entries(tuple(fitting), more=True)
        fitting.append(entry)
    return Entries(tuple(fitting), more=False)


def _weight(entry: GroupInfo) -> int:
    others = [text for seat in entry.others for text in seat]
    texts = (*entry.members, *entry.addresses, *entry.definition.static, *others)
    return 256 + sum(map(len, texts)) + 3 * len(texts)
