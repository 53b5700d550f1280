"""Several registries for one process: whom a request goes to, and what their answers come to together.

A group has one *home* among them: the registry at which it was created. The home alone gives its name away, notes its
joiners and votes for its successors, so two registries never decide the same thing, and need not agree
(docs/protocols/registries.md). All others hold copies, which members register: they tell newcomers where the group is.

A registry does not know by which address it is known. So a definition names the home as its holder sees it: empty means
the registry that it came from, or goes to (`for_registry`, `from_registry`).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from gcom.core.directory.refusals import different, elsewhere, unknown
from gcom.core.messages.registry import (
    Answer,
    Claim,
    Create,
    Entries,
    Farewell,
    Fork,
    GroupInfo,
    ListGroups,
    Lookup,
    Note,
    Refusal,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.core.messages.witness import WitnessAccept, WitnessDecided, WitnessPrepare
from gcom.values import limits, lineage
from gcom.values.definition import Definition, Netsplit
from gcom.values.names import Address

Puts = Mapping[Address, Request]
Answers = Mapping[Address, Answer | None]
Inquiry = Generator[Puts, Answers, Answer | None]


class Homes:
    """The homes of the instances that a process has heard of; the oldest are forgotten."""

    def __init__(self) -> None:
        self._known: dict[str, Address] = {}

    def learn(self, instance: str, definition: Definition) -> None:
        """Record the home of an instance."""
        # Taken out first, so that it comes to the end: an instance that is still heard of is never the
        # oldest.
        self._known.pop(instance, None)
        self._known[instance] = definition.home
        for oldest in list(self._known)[: -limits.GONE_MAX]:
            del self._known[oldest]

    def of(self, instance: str) -> Address:
        """Return the home of an instance; empty if it is not known."""
        return self._known.get(instance, "")


def converse(request: Request, registries: Sequence[Address], homes: Homes) -> Inquiry:
    """Yield requests by registry, take their answers, and return the answer that these come to; None: there is none."""
    match request:
        case Create(definition):
            return (yield from _create(definition, registries, homes))
        case Remove(group):
            # A command names a group, not an instance; only an entry says where its home is.
            found = yield from converse(Lookup(group), registries, homes)
            if not isinstance(found, GroupInfo):
                return found
            return (yield from _ask(request, [found.definition.home], homes)).get(found.definition.home)
        case Claim() | Note() | Fork() | WitnessPrepare() | WitnessAccept():
            home = homes.of(request.instance)
            if home not in registries:
                return elsewhere(home) if home else None
            # The home alone: a copy that voted as well would give two halves a vote each.
            return (yield from _ask(request, [home], homes)).get(home)
        case Register():
            # Before it is asked: a vote may be needed although no registry answers now.
            homes.learn(request.instance, request.definition)
            return registered(request, (yield from _ask(request, registries, homes)))
        case Lookup():
            answers = yield from _ask(request, registries, homes)
            if word := _unheard(answers):
                # 1. The home is down, and all members leave. 2. It starts again, and lists them. A copy heard the last.
                at, farewell = word
                yield from _ask(farewell.request, [at], homes)
                answers = yield from _ask(request, registries, homes)
            return within(found_by(answers), registries)
        case ListGroups():
            return _listed((yield from _ask(request, registries, homes)))
        case Unregister():
            answers = yield from _ask(request, registries, homes)
            # The home's word counts. Where it is silent, any copy's answer says at least that the tombstone is kept.
            return answers.get(homes.of(request.instance)) or _any(answers)
        case _:
            assert_never(request)


def _ask(
    request: Request, registries: Sequence[Address], homes: Homes
) -> Generator[Puts, Answers, dict[Address, Answer | None]]:
    """Put a request to registries; return their answers, in the order of the list. Definitions are translated."""
    answers = yield {at: for_registry(request, at) for at in registries}
    translated = {at: from_registry(answers.get(at), at) for at in registries}
    # Any answer tells a home, a list of groups too: a vote may have to be asked of it when it is silent.
    for answer in translated.values():
        for entry in _entries(answer):
            homes.learn(entry.instance, entry.definition)
    return translated


def _create(definition: Definition, registries: Sequence[Address], homes: Homes) -> Inquiry:
    """Create a group, at the first registry that does not know the name, if no registry that answers knows it."""
    answers = yield from _ask(Lookup(definition.group), registries, homes)
    found = within(found_by(answers), registries)
    if isinstance(found, GroupInfo):
        return found if found.definition == definition else different(found.definition, definition)
    # 1. A registry has just started, and gives no name away: the group may register there. 2. Another knows nothing.
    if not _is_unknown(found):
        return found
    # The first of the list, as all do who have the same list: of two that create at once, one registry decides.
    first = next(at for at, answer in answers.items() if _is_unknown(answer))
    return (yield from _ask(Create(definition), [first], homes))[first]


def within(found: Answer | None, registries: Sequence[Address]) -> Answer | None:
    """Return an entry, or a refusal if this process cannot ask its home, as a member must be able to for votes."""
    if isinstance(found, Farewell):
        return unknown(found.request.group)
    home = found.definition.home if isinstance(found, GroupInfo) else ""
    return elsewhere(home) if home and home not in registries else found


def _is_unknown(answer: Answer | None) -> bool:
    return isinstance(answer, Farewell) or (isinstance(answer, Refusal) and answer.code == "UnknownGroup")


def _unheard(answers: Answers) -> tuple[Address, Farewell] | None:
    """Return the word of a last member, which a copy has, and the home that has not heard it."""
    for farewell in [it for it in answers.values() if isinstance(it, Farewell)]:
        for at, entry in answers.items():
            listed = isinstance(entry, GroupInfo) and entry.definition.home == at and not entry.alive
            if listed and isinstance(entry, GroupInfo) and entry.instance == farewell.request.instance:
                return at, farewell
    return None


# a definition, as registries and this process see it


def for_registry(request: Request, at: Address) -> Request:
    """Return a request as the registry at an address sees it: where that is a group's home, no home is named."""
    match request:
        case Create() | Register():
            return replace(request, definition=_with_home(request.definition, at, ""))
        case _:
            return request


def from_registry(answer: Answer | None, at: Address) -> Answer | None:
    """Return a registry's answer as this process sees it: a group without a home is at home at that registry."""
    match answer:
        case GroupInfo():
            return _at_home(answer, at)
        case Entries(groups):
            return replace(answer, groups=tuple(_at_home(entry, at) for entry in groups))
        case _:
            return answer


def _at_home(entry: GroupInfo, at: Address) -> GroupInfo:
    return replace(entry, definition=_with_home(entry.definition, "", at))


def _with_home(definition: Definition, old: Address, new: Address) -> Definition:
    return replace(definition, home=new) if definition.home == old else definition


# what answers come to


def _entries(answer: Answer | None) -> tuple[GroupInfo, ...]:
    return answer.groups if isinstance(answer, Entries) else (answer,) if isinstance(answer, GroupInfo) else ()


def _order(entry: GroupInfo, at: Address) -> tuple[bool, bool, tuple[object, ...], int, bool]:
    """Return a key by which the entry that counts comes first: the newest of those that somebody is in."""
    if entry.definition.netsplit is Netsplit.PRIMARY:
        above: tuple[object, ...] = lineage.precedence(entry.instance)
    else:
        above = lineage.precedence_by_size(len(entry.members), entry.view, entry.instance)
    # Empty entries last, then those without a lease: a name that is claimed
    # beats one that is only created. On equal terms the home's own word.
    return not entry.members, not entry.alive, above, -entry.view, entry.definition.home != at


def _best(found: Mapping[Address, GroupInfo]) -> GroupInfo | None:
    if not found:
        return None
    best = found[min(found, key=lambda at: _order(found[at], at))]
    # An operator orders at the home; a copy may have the later view.
    forked = any(entry.forked for entry in found.values() if entry.instance == best.instance)
    return replace(best, forked=forked)


def found_by(answers: Answers) -> Answer | None:
    """Return the answer to a look-up: a home's word of its own groups, else a copy's, else why there is none."""
    # 1. All members of a group die, and its home buries it. 2. A copy lists it still. If the copy counted, a newcomer
    # would ask the home for a name that the home does not know, and look again, for ever.
    silent = {at for at, answer in answers.items() if not (_is_unknown(answer) or isinstance(answer, GroupInfo))}
    entries = {at: answer for at, answer in answers.items() if isinstance(answer, GroupInfo)}
    spoken = answers.keys() - silent
    said = {at: it for at, it in entries.items() if it.definition.home == at or it.definition.home not in spoken}
    # A tombstone beats every entry: an instance that all have left is over, and a copy may have missed it.
    over = next((it for it in answers.values() if isinstance(it, Refusal) and it.code == "Dissolved"), None)
    others = {at: answer for at, answer in answers.items() if at not in entries}
    return over or _best(said) or _starting(others) or _any(others)


def registered(request: Register, answers: Answers) -> Answer | None:
    """Return the answer to a registration: that its instance is over, else the newest entry, else any refusal."""
    # Of a rival in a PRIMARY group the rival's own home alone has a say: a copy can't tell a made-up instance.
    primary = request.definition.netsplit is Netsplit.PRIMARY
    answers = {at: None if primary and _hearsay(it, at, request) else it for at, it in answers.items()}
    # Before all else: a decided succession is the end of the instance that registers.
    decided = next((it for it in answers.values() if isinstance(it, WitnessDecided)), None)
    over = next((it for it in answers.values() if isinstance(it, Refusal) and it.code in OVER), None)
    entries = {at: answer for at, answer in answers.items() if isinstance(answer, GroupInfo)}
    return decided or over or _best(entries) or _any(answers)


OVER = ("Dissolved", "Superseded")  # the codes that say that an instance has ended


def _hearsay(answer: Answer | None, at: Address, request: Register) -> bool:
    """Return whether a registry names another instance than the one that registers, which is not at home there."""
    return isinstance(answer, GroupInfo) and answer.instance != request.instance and answer.definition.home != at


def _starting(answers: Answers) -> Refusal | None:
    starting = (it for it in answers.values() if isinstance(it, Refusal) and it.code == "RegistryStarting")
    return next(starting, None)


def _any(answers: Answers) -> Answer | None:
    # Of a farewell an asker learns no more than that there is no such group.
    found = next((answer for answer in answers.values() if answer is not None), None)
    return unknown(found.request.group) if isinstance(found, Farewell) else found


def _listed(answers: Answers) -> Answer | None:
    """Return one list of the groups on all pages, up to where the shortest page ends that has more after it."""
    pages = {at: answer for at, answer in answers.items() if isinstance(answer, Entries)}
    if not pages:
        return _any(answers)
    ends = [page.groups[-1].definition.group for page in pages.values() if page.more and page.groups]
    # Only as far as the shortest page goes: beyond it a group would be listed by a copy, and again, by its
    # home, with the next page.
    last = min(ends, default=None)
    by_name: dict[str, dict[Address, GroupInfo]] = {}
    for at, page in pages.items():
        for entry in page.groups:
            if last is None or entry.definition.group <= last:
                by_name.setdefault(entry.definition.group, {})[at] = entry
    # A registry that does not list a group has said that it does not know
    # it: else a copy would count beside the word of the home that buried it.
    best = [found_by({**dict.fromkeys(pages, _NONE), **found}) for _, found in sorted(by_name.items())]
    return Entries(tuple(it for it in best if isinstance(it, GroupInfo)), more=last is not None)


_NONE = Refusal("UnknownGroup", "")
