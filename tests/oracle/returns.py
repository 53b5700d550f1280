"""CONTINUITY (b) across instances: what a name has, founded anew or not, of what those had who come back to it.

A member that was put out takes its state along. What an instance has is told by how it began: by the cut of its
predecessor, or by what its founder had. Naive: messages one by one, as (instance, sender, number).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.oracle.events import Adopt, History, Message, Process
from tests.oracle.instances import (
    Instance,
    Link,
    ancestors,
    delivered,
    end_of,
    goes_into,
    has_gap,
    installed,
    name_of,
    outlives,
    settled_at_end,
)

_FOR_GOOD = ("request", "exit", "defect", "dissolved")


@dataclass(frozen=True, slots=True)
class Beginning:
    """The part of an earlier instance that it has. `senders`: whose messages it can be asked for; None: all."""

    messages: frozenset[Message] = frozenset()
    senders: frozenset[Process] | None = None
    sure: bool = True

    def asked(self, message: Message) -> bool:
        return self.senders is None or message[0] in self.senders


_ASKED_NOTHING = Beginning(senders=frozenset())


def by_cut(link: Link) -> Beginning:
    everybody = {who for view in link.old.views.values() for who in view.members} | set(link.said.cut or {})
    senders = frozenset(who for who in everybody if link.concerns(who))
    if not nobody_had_a_state(link):
        return Beginning(frozenset(link.required()), senders)
    heard = {message for history in _who_begin(link) for message in delivered(history)}
    return Beginning(frozenset(link.required() & heard), senders, sure=False)


def nobody_had_a_state(link: Link) -> bool:
    """Whether those who begin the new instance all entered the old one, and its state reached none of them."""
    takers = {
        history.process
        for each in (link.old, link.new)
        for history in each.histories
        for event in history.events
        if isinstance(event, Adopt)
    }
    went = _who_begin(link)
    with_state = [history for history in went if 1 in installed(history) or has_gap(history) or _adopted(history)]
    return bool(takers and went) and not with_state


def _who_begin(link: Link) -> list[History]:
    return [history for history in link.old.histories if history.process in link.new.firsts]


def _adopted(history: History) -> bool:
    return any(isinstance(event, Adopt) for event in history.events)


def told_of_the_end(link: Link, history: History) -> bool:
    """It was told that all have left, and no log tells so."""
    end = end_of(history)
    return link.said.by == "ended" and end is not None and end.reason == "dissolved"


def check_returns(
    instances: dict[str, Instance], check_confirmed: Callable[[Link, Beginning], None], idle: set[str]
) -> None:
    if any(name in ancestors(name, instances)[0] for name in instances):
        return  # nobody can say what such instances began with
    for old in instances.values():
        if not old.primary or not old.reliable or old.dissolved:
            continue
        for new in instances.values():
            for said in new.succeeds:
                if said.instance == old.name and said.by == "ended":
                    _check_founding(Link(old, new, said), instances, check_confirmed)
        for history in old.histories:
            _check_return(old, history, instances, idle)


def _check_founding(
    link: Link, instances: dict[str, Instance], check_confirmed: Callable[[Link, Beginning], None]
) -> None:
    check_confirmed(link, _began(link.new, instances)[link.old.name])
    for history in link.old.histories:
        if outlives(history) and history.process not in link.said.gives_up:
            had = {each for each in _had(link.old, history, instances) if each[0] != link.old.name}
            _check_kept(link.old, link.new, had, instances, sure=not told_of_the_end(link, history))


def _check_kept(
    old: Instance, new: Instance, had: set[tuple[str, Message]], instances: dict[str, Instance], sure: bool
) -> None:
    began = _began(new, instances)
    for name, message in sorted(had):
        has = began.get(name, _ASKED_NOTHING)
        if has.asked(message) and message not in has.messages:
            said = f"{message} of {name} was confirmed, and {new.name} begins without it"
            old.tally.wrong_or_unknown(sure and has.sure, said)


def _had(old: Instance, history: History, instances: dict[str, Instance]) -> set[tuple[str, Message]]:
    """Return the confirmed messages that it had: of the instance itself, and with the state of those before."""
    found = {(old.name, message) for message in delivered(history) & old.confirmed()}
    if history.process in old.firsts or _adopted(history):
        for name, has in _began(old, instances).items():
            found |= {(name, message) for message in has.messages & instances[name].confirmed()}
    return found


def _check_return(old: Instance, history: History, instances: dict[str, Instance], idle: set[str]) -> None:
    """Check that a process which was put out, and is back in a later instance, finds there what it had.

    `idle`: names of which some incarnation got in nowhere; it may have ended on its way back.
    """
    end, who = end_of(history), history.process
    if end is None or end.reason in _FOR_GOOD or not installed(history):
        return
    had = _had(old, history, instances)
    again = {each.name for each in instances.values() for other in each.histories if _is_back(history, other)}
    here = [other for other in old.histories if _is_back(history, other)]
    if not had or any(min(installed(other)) > max(installed(history)) for other in here):
        return
    again -= {old.name, *ancestors(old.name, instances)[0]}
    later = [name for name in again if old.name in ancestors(name, instances)[0]]
    if not later:
        if again and goes_into(history) is None:
            old.tally.evaluated += 1
            old.tally.unknowns.append(f"{who} came back to {sorted(again)}, and nothing tells what that follows")
        return
    new = instances[min(later, key=lambda name: (_depth(name, instances), name))]
    between = [new, *(instances[name] for name in ancestors(new.name, instances)[0] & instances.keys())]
    follows = [said for each in between for said in each.succeeds if said.instance in instances]
    if not new.primary or not new.reliable or any(who in said.gives_up for said in follows):
        return
    if outlives(history) and old.name in new.parents():
        return  # checked with the link
    old.tally.evaluated += 1
    adopted = any(_from_a_founder(new, each.process, set()) for each in new.histories if _is_back(history, each))
    _check_kept(old, new, had, instances, sure=adopted and history.closed and name_of(who) not in idle)


def _is_back(history: History, other: History) -> bool:
    return name_of(other.process) == name_of(history.process) and bool(installed(other))


def _depth(name: str, instances: dict[str, Instance]) -> int:
    return len(ancestors(name, instances)[0] & instances.keys())


def _from_a_founder(new: Instance, who: Process, seen: set[Process]) -> bool:
    """Its state is that with which the instance began: a founder gave it, or one who had it from there."""
    givers = {
        event.giver
        for each in new.histories
        if each.process == who
        for event in each.events
        if isinstance(event, Adopt)
    }
    known = {each.process for each in new.histories} - seen
    return any(giver in new.firsts or _from_a_founder(new, giver, seen | {giver}) for giver in givers & known)


def _began(new: Instance, instances: dict[str, Instance]) -> dict[str, Beginning]:
    """Return the part of each earlier instance that an instance begins with."""
    found: dict[str, Beginning] = {}
    for said in new.succeeds:
        if said.instance in instances:
            link = Link(instances[said.instance], new, said)
            found |= _by_founder(link, instances) if said.by == "ended" else _by_predecessor(link, instances)
    return found


def _by_predecessor(link: Link, instances: dict[str, Instance]) -> dict[str, Beginning]:
    cut = _ASKED_NOTHING if link.said.cut is None else by_cut(link)
    before = _began(link.old, instances)
    if nobody_had_a_state(link):
        before = {name: Beginning(senders=has.senders, sure=False) for name, has in before.items()}
    return before | {link.old.name: cut}


def _by_founder(link: Link, instances: dict[str, Instance]) -> dict[str, Beginning]:
    before = ({link.old.name} | ancestors(link.old.name, instances)[0]) & instances.keys()
    if link.old.dissolved:
        return dict.fromkeys(before, _ASKED_NOTHING)
    nothing = dict.fromkeys(before, Beginning())
    for name in sorted(before, key=lambda name: (_depth(name, instances), name), reverse=True):
        own = _of_its_own(instances[name], min(link.new.firsts))
        if own is not None:
            return nothing | _began(instances[name], instances) | {name: own}
    return nothing


def _of_its_own(instance: Instance, founder: Process) -> Beginning | None:
    """Return what a founder had there, under an earlier incarnation; None if it was not there."""
    members = {who for view in instance.views.values() for who in view.members} - {founder}
    former = {who for who in members if name_of(who) == name_of(founder)}
    logs = [each for each in instance.histories if each.process in former and installed(each)]
    kept = [each for each in logs if _may_come_back(each)]
    sure = len(logs) == len(former) and all(end_of(each) and not has_gap(each) for each in kept)
    if not kept:
        return None if sure else Beginning(sure=False)
    since = min(min(installed(each)) for each in kept)
    senders = {who for number, view in instance.views.items() if number >= since for who in view.members}
    messages = frozenset(message for each in kept for message in settled_at_end(each))
    return Beginning(messages, frozenset(senders), sure)


def _may_come_back(history: History) -> bool:
    end = end_of(history)
    return not history.closed if end is None else end.reason not in _FOR_GOOD
