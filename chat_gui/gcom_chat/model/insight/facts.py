"""Tables of a snapshot: what is held back and why, and what is known of the order and of own messages."""

from __future__ import annotations

from dataclasses import dataclass

import gcom
from gcom_chat.model.insight.names import called, seconds, span
from gcom_chat.model.texts.words import QT_TRANSLATE_NOOP, translate

REASONS_SHOWN = 3  # of what one run waits for; the first ones decide when it goes on

# What a run waits for, by `gcom.Missing.kind`, except for messages.
WAITS = {
    "place": QT_TRANSLATE_NOOP("facts", "a place in the total order"),
    "majority": QT_TRANSLATE_NOOP("facts", "a majority of the view to hold its place in the total order"),
    "stability": QT_TRANSLATE_NOOP("facts", "a majority of the view to hold it"),
    "fragments": QT_TRANSLATE_NOOP("facts", "the rest of its fragments"),
    "view": QT_TRANSLATE_NOOP("facts", "a view change"),
    "state": QT_TRANSLATE_NOOP("facts", "the application's state"),
}


@dataclass(frozen=True, slots=True)
class HeldLine:
    """A line of the hold-back queue; `sender` and `first` name its first message."""

    message: str
    waits_for: str
    since: str
    sender: str
    first: int


def held_lines(snapshot: gcom.Snapshot) -> list[HeldLine]:
    """Return what is held back, longest first."""
    # The oldest on top: it is as a rule what all the others wait for.
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
    return ", ".join(texts) + (translate("facts", ", and {} more").format(rest) if rest else "")


def _missing(missing: gcom.Missing) -> str:
    if missing.kind == "message":
        return span(missing.process, missing.first, missing.last)
    return translate("facts", WAITS.get(missing.kind, str(missing)))


def held_summary(snapshot: gcom.Snapshot) -> str:
    """Return the hold-back queue in one sentence."""
    count = sum(each.last - each.first + 1 for each in snapshot.held_back)
    if not count:
        return translate("facts", "Nothing is held back: every message that is here was delivered.")
    if count == 1:
        text = translate("facts", "1 message is here and not delivered yet")
    else:
        text = translate("facts", "{} messages are here and not delivered yet").format(count)
    rest = snapshot.held_back_rest
    return text + (translate("facts", ", and {} runs that are not listed").format(rest) if rest else "") + "."


def order_facts(snapshot: gcom.Snapshot) -> list[tuple[str, str]]:
    """Return what is known of the order and of the own messages, as names and values."""
    definition, window = snapshot.definition, snapshot.window
    return [
        (translate("facts", "Ordering"), f"{definition.ordering.value}, {definition.multicast.value}"),
        *_sequencer_facts(snapshot.sequencer),
        (translate("facts", "Own messages not held by all"), f"{window.unstable:,}"),
        (
            translate("facts", "… not read by all"),
            translate("facts", "{:,} of {:,}").format(window.unread, window.size),
        ),
        (translate("facts", "… waiting to be sent"), f"{window.unnumbered:,}"),
        (translate("facts", "A send would wait for"), snapshot.waits_for or translate("facts", "nothing")),
    ]


def _sequencer_facts(order: gcom.SequencerInfo | None) -> list[tuple[str, str]]:
    name = translate("facts", "Sequencer")
    if order is None:
        return [(name, translate("facts", "none: this group has no total order"))]
    if order.where == "registry":
        where = translate("facts", "in the registry")
    else:
        where = translate("facts", "at {}").format(called(order.where))
    return [
        (name, where + (translate("facts", ", and it did not answer lately") if order.doubted else "")),
        (translate("facts", "Last serial known here"), f"{order.ordered:,}"),
        (translate("facts", "… agreed by a majority"), f"{order.agreed:,}"),
        (translate("facts", "… delivered here"), f"{order.delivered:,}"),
    ]


def heard_facts(snapshot: gcom.Snapshot) -> list[tuple[str, str]]:
    """Return for each other member when it was last heard, and why it is suspected."""
    facts = []
    for process in snapshot.view.members:
        if process == snapshot.process:
            continue
        heard = snapshot.heard_s.get(process)
        if heard is None:
            text = translate("facts", "not heard yet")
        else:
            text = translate("facts", "heard {} ago").format(seconds(heard))
        if why := snapshot.suspected.get(process):
            text += translate("facts", "; suspected: {}").format(why)
        facts.append((called(process), text))
    return facts
