"""Tables of a snapshot: what is held back and why, and what is known of the order and of own messages."""

from __future__ import annotations

from dataclasses import dataclass

import gcom
from chat_gui.model.insight.names import seconds, short, span

REASONS_SHOWN = 3  # of what one run waits for; the first ones decide when it goes on


@dataclass(frozen=True, slots=True)
class HeldLine:
    """One line of the hold-back queue; `sender` and `first` name its first message."""

    message: str
    waits_for: str
    since: str
    sender: str
    first: int


def held_lines(snapshot: gcom.Snapshot) -> list[HeldLine]:
    """Return what is held back, longest first."""
    held = sorted(snapshot.held_back, key=lambda each: -each.since_s)
    return [
        HeldLine(
            span(each.sender, each.first, each.last), _reasons(each), seconds(each.since_s), each.sender, each.first
        )
        for each in held
    ]


def _reasons(held: gcom.HeldBack) -> str:
    texts = [_missing(each) for each in held.waits_for[:REASONS_SHOWN]]
    rest = len(held.waits_for) - len(texts)
    return ", ".join(texts) + (f", and {rest} more" if rest else "")


def _missing(missing: gcom.Missing) -> str:
    return span(missing.process, missing.first, missing.last) if missing.kind == "message" else str(missing)


def held_summary(snapshot: gcom.Snapshot) -> str:
    """Return the hold-back queue in one sentence."""
    count = sum(each.last - each.first + 1 for each in snapshot.held_back)
    if not count:
        return "Nothing is held back: every message that is here was delivered."
    more = f", and {snapshot.held_back_rest} runs that are not listed" if snapshot.held_back_rest else ""
    return f"{count} {'message is' if count == 1 else 'messages are'} here and not delivered yet{more}."


def order_facts(snapshot: gcom.Snapshot) -> list[tuple[str, str]]:
    """Return what is known of the order and of the own messages, as names and values."""
    facts = [("Ordering", f"{snapshot.definition.ordering.value}, {snapshot.definition.multicast.value}")]
    order = snapshot.sequencer
    if order is None:
        facts.append(("Sequencer", "none: this group has no total order"))
    else:
        where = "in the registry" if order.where == "registry" else f"at {short(order.where)}"
        facts += [
            ("Sequencer", where + (", and it did not answer lately" if order.doubted else "")),
            ("Last serial known here", f"{order.ordered:,}"),
            ("… agreed by a majority", f"{order.agreed:,}"),
            ("… delivered here", f"{order.delivered:,}"),
        ]
    window = snapshot.window
    facts += [
        ("Own messages not held by all", f"{window.unstable:,}"),
        ("… not read by all", f"{window.unread:,} of {window.size:,}"),
        ("… waiting to be sent", f"{window.unnumbered:,}"),
        ("A send would wait for", snapshot.waits_for or "nothing"),
    ]
    return facts


def heard_facts(snapshot: gcom.Snapshot) -> list[tuple[str, str]]:
    """Return for each other member when it was last heard, and why it is suspected."""
    facts = []
    for process in snapshot.view.members:
        if process == snapshot.process:
            continue
        heard = snapshot.heard_s.get(process)
        text = "not heard yet" if heard is None else f"heard {seconds(heard)} ago"
        if why := snapshot.suspected.get(process):
            text += f"; suspected: {why}"
        facts.append((short(process), text))
    return facts
