"""CONTINUITY, over the instances of a name: naive, from DELIVERY_LOG.md as decision 0005 reads it.

Each case is counted at one instance: where a session ended or what was confirmed at the instance that ended, where an
instance begins and who enters it at the one that begins.
"""

from __future__ import annotations

from tests.oracle.events import Adopt, Confirm, Deliver, History, Process
from tests.oracle.instances import (
    Instance,
    Link,
    ancestors,
    delivered,
    descends,
    end_of,
    goes_into,
    has_gap,
    installed,
    name_of,
    outlives,
    settled_at_end,
)
from tests.oracle.returns import Beginning, by_cut, check_returns, told_of_the_end
from tests.oracle.rules import Tally


def continuity(by_instance: dict[str, list[History]], closed: set[Process], idle: set[Process]) -> dict[str, Tally]:
    """The rule's tally at each instance of one name; `closed` are the processes whose logs are complete, `idle` those
    that are in no view of any group.
    """
    instances = {name: Instance(name, histories) for name, histories in sorted(by_instance.items())}
    for instance in instances.values():
        instance.tally.add_gaps(instance.histories)
    _check_origins(instances)
    for instance in instances.values():
        _check_beginning(instance, instances)
        _check_destinations(instance, instances)
        links = _links_from(instance, instances)
        _check_successors(instance, links)
        if instance.primary and not links:
            _check_last(instance)
        for link in links:
            _check_later_views(link)
            if link.said.by != "ended":
                _check_link(link, closed)
        _check_adoptions(instance, instances)
    check_returns(instances, check_confirmed, {name_of(each) for each in idle})
    return {name: instance.tally for name, instance in instances.items()}


def _links_from(old: Instance, instances: dict[str, Instance]) -> list[Link]:
    return [Link(old, new, each) for new in instances.values() for each in new.succeeds if each.instance == old.name]


def _check_origins(instances: dict[str, Instance]) -> None:
    """One origin a name; logs of which none knows `succeeds` cannot tell."""
    if len(instances) < 2:
        return
    origins = [each for each in instances.values() if each.firsts and not each.succeeds]
    known = any(each.succeeds for each in instances.values()) or any(
        goes_into(history) is not None for each in instances.values() for history in each.histories
    )
    for each in instances.values():
        each.tally.evaluated += 1
        if not each.firsts:
            each.tally.unknowns.append(f"the first view of {each.name} is in no log")
    if len(origins) > 1 and known and all(each.primary for each in instances.values()):
        for each in origins:
            each.tally.violations.append(f"{each.name} is one of several origins of the name")
    elif len(origins) > 1 and len(_components(instances)) > 1:
        for each in origins:
            each.tally.unknowns.append(f"{each.name} is one of several instances without `succeeds`")


def _components(instances: dict[str, Instance]) -> list[set[str]]:
    """Instances that succeed one another, or from one to the other of which somebody went, are together."""
    parts = [{name} for name in instances]
    for name, each in instances.items():
        went = {goes_into(history) for history in each.histories}
        for other in {*each.parents(), *went} & instances.keys():
            joined = [part for part in parts if part & {name, other}]
            parts = [part for part in parts if part not in joined] + [set().union(*joined)]
    return parts


def _check_beginning(new: Instance, instances: dict[str, Instance]) -> None:
    unlike = any(each.succeeds != new.succeeds for each in new.firsts.values())
    if not new.succeeds and not unlike:
        return
    new.tally.evaluated += 1
    if unlike:
        new.tally.violations.append(f"those who installed the first view of {new.name} name unlike predecessors")
    if new.primary and len(new.parents()) > 1:
        new.tally.violations.append(f"{new.name} has several predecessors")
    if descends(new.name, new.name, instances) is True:
        new.tally.violations.append(f"{new.name} succeeds itself")
    _check_serial(new)
    for each in new.succeeds:
        if each.by != "ended" and each.instance not in instances:
            new.tally.unknowns.append(f"no log tells of {each.instance}, which {new.name} succeeds")
        if each.by != "ended" and (each.view is None or each.cut is None):
            new.tally.unknowns.append(f"{new.name} does not tell which view and cut of {each.instance} it succeeds")


def _check_serial(new: Instance) -> None:
    """Serials go on."""
    if len(new.succeeds) != 1 or new.succeeds[0].by == "ended" or not (new.primary and new.reliable):
        return
    last = new.succeeds[0].serial
    for who, first in new.firsts.items():
        if last is not None and first.base_serial != last:
            new.tally.violations.append(f"{who} began {new.name} after serial {first.base_serial}, not after {last}")


def _check_destinations(old: Instance, instances: dict[str, Instance]) -> None:
    """`into` leads to descendants; of a PARTITIONABLE name, to one of the same origin."""
    for history in old.histories:
        if (into := goes_into(history)) is not None:
            old.tally.evaluated += 1
            fits = _fits(old, into, instances)
            if fits is not True:
                old.tally.wrong_or_unknown(fits is False, f"{history.process} went from {old.name} into {into}")


def _fits(old: Instance, into: str, instances: dict[str, Instance]) -> bool | None:
    if into == old.name:
        return False
    if old.primary or into not in instances:
        return descends(into, old.name, instances)
    mine, _ = ancestors(old.name, instances)
    theirs, _ = ancestors(into, instances)
    return True if {*mine, old.name} & {*theirs, into} else None  # a side that begins anew does not say what it follows


def _check_successors(old: Instance, links: list[Link]) -> None:
    if links:
        old.tally.evaluated += 1
        if old.primary and len({link.new.name for link in links}) > 1:
            old.tally.violations.append(f"{old.name} has several successors")


def _check_last(old: Instance) -> None:
    """Check that those detached in the last view of an instance without successor wait, or lost what they had."""
    for history in old.histories:
        if end_of(history) is None or goes_into(history) is not None or not outlives(history) or has_gap(history):
            continue
        if max(installed(history)) == max(old.views):
            old.tally.unknowns.append(f"{history.process} detached in the last view of {old.name}")


def _check_later_views(link: Link) -> None:
    old, said = link.old, link.said
    if not old.primary or said.view is None:
        return
    old.tally.evaluated += 1
    for history in old.histories:
        who = history.process
        later = [view for view in installed(history) if view > said.view]
        if later and outlives(history) and who not in said.gives_up:
            old.tally.violations.append(f"{who} installed view {later[0]} of {old.name}, and {link.new.name} succeeds")
        if who in said.gone and goes_into(history) == link.new.name:
            old.tally.violations.append(f"{who} was proved dead, and went over")


def _check_link(link: Link, closed: set[Process]) -> None:
    old, said = link.old, link.said
    if old.primary and said.view is not None:
        _check_ends_are_known(link, said.view, closed)
    if not old.reliable or said.cut is None:
        return
    if said.view is not None:
        _check_settled(link, said.view)
    if old.primary:
        check_confirmed(link, by_cut(link))


def _check_ends_are_known(link: Link, view: int, closed: set[Process]) -> None:
    old = link.old
    if view not in old.views:
        old.tally.unknowns.append(f"no log tells of view {view} of {old.name}")
    last = [old.views[n] for n in {view, max(old.views, default=view)} if n in old.views]
    by_process = {history.process: history for history in old.histories}
    for who in sorted({who for each in last for who in each.members} - link.said.gone - link.said.gives_up):
        history = by_process.get(who)
        if who not in closed and (history is None or end_of(history) is None):
            old.tally.unknowns.append(f"nothing tells how the session of {who} ended")


def _check_settled(link: Link, view: int) -> None:
    for history in link.old.histories:
        end = end_of(history)
        if has_gap(history) or end is None or end.into != link.new.name or history.process in link.said.gives_up:
            continue
        if end.reason == "expelled":
            continue  # it comes back as another process
        if max(installed(history), default=0) == view:
            link.old.tally.evaluated += 1
            settled = {message for message in settled_at_end(history) if link.concerns(message[0])}
            had = {message for message in delivered(history) & link.said.without if link.concerns(message[0])}
            if had or not link.required() <= settled <= link.whole():
                link.old.tally.violations.append(f"{history.process} had not settled exactly the cut of view {view}")


def check_confirmed(link: Link, has: Beginning) -> None:
    """Check that a process which outlives the old instance finds in the new one what it held of the confirmed."""
    old = link.old
    outliving = {history.process: history for history in old.histories if outlives(history)}
    outliving = {who: history for who, history in outliving.items() if who not in link.said.gives_up}
    holders = {
        message: {who for who in outliving if message in delivered(outliving[who])} for message in old.confirmed()
    }
    if old.definition is not None and not old.definition.safe:
        for history in old.histories:
            for event in history.events:
                if isinstance(event, Confirm):
                    holders[history.process, event.number] |= _must_hold(event, old, set(outliving))
    for message, had in holders.items():
        if has.asked(message):
            old.tally.evaluated += 1
            if had and message not in has.messages:
                sure = has.sure and any(not told_of_the_end(link, outliving[who]) for who in had)
                said = (
                    f"{message} was confirmed, {sorted(had)} had it, and it is not in what {link.new.name} begins with"
                )
                old.tally.wrong_or_unknown(sure, said)


def _must_hold(event: Confirm, old: Instance, outliving: set[Process]) -> set[Process]:
    """The survivors, where there are so many that one of them is among those who held it."""
    members = set(old.views[event.view].members) if event.view in old.views else set()
    held = len(members) if event.by == "all" else len(members) // 2 + 1
    left = members & outliving
    return left if len(left) + held > len(members) else set()


def _check_adoptions(new: Instance, instances: dict[str, Instance]) -> None:
    """A process that enters and had not settled the cut takes over a state with it, before it delivers."""
    before, _ = ancestors(new.name, instances)
    earlier = {name_of(who) for name in before & instances.keys() for who in _with_views(instances[name])}
    stateful = any(
        isinstance(event, Adopt) for it in instances.values() for each in it.histories for event in each.events
    )
    for history in new.histories:
        if not installed(history) or has_gap(history):
            continue
        lacking = [link for link in _links_to(new, instances) if not _has_cut(link, history.process)]
        returns = stateful and name_of(history.process) in earlier
        for link in lacking:
            _check_adoption(link, history, returns)


def _with_views(instance: Instance) -> list[Process]:
    return [history.process for history in instance.histories if installed(history)]


def _links_to(new: Instance, instances: dict[str, Instance]) -> list[Link]:
    return [
        Link(instances[each.instance], new, each)
        for each in new.succeeds
        if each.instance in instances and each.by != "ended" and each.cut is not None
        if instances[each.instance].reliable
    ]


def _has_cut(link: Link, process: Process) -> bool:
    """Whether it, or the same member before, went over with all that is in the cut; a gap may hide that."""
    for history in link.old.histories:
        over = goes_into(history) == link.new.name and name_of(history.process) == name_of(process)
        if (
            installed(history)
            and (over or history.process == process)
            and (has_gap(history) or link.required() <= settled_at_end(history))
        ):
            return True
    return False


def _check_adoption(link: Link, history: History, returns: bool) -> None:
    delivers = any(isinstance(event, Deliver) for event in history.events)
    adopted = [event for event in history.events if isinstance(event, Adopt)]
    if not adopted and not (delivers and returns):
        return
    link.new.tally.evaluated += 1
    whole = [event for event in adopted if _is_whole(event, link)]
    if whole and not any(_had_state(link, event.giver) for event in whole):
        link.new.tally.unknowns.append(f"nothing tells that who gave {history.process} a state had the cut")
    elif not adopted:
        link.new.tally.unknowns.append(f"{history.process} entered {link.new.name}, and nothing tells with which state")
    elif not whole:
        link.new.tally.violations.append(f"{history.process} entered {link.new.name} without the cut's state")


def _is_whole(event: Adopt, link: Link) -> bool:
    return all(n <= event.cut.get(who, 0) for who, n in link.required_anew())


def _had_state(link: Link, giver: Process) -> bool:
    """Whether it went over with the cut, or took over a state of the new instance."""
    theirs = [event for history in link.new.histories if history.process == giver for event in history.events]
    return _has_cut(link, giver) or any(isinstance(event, Adopt) and _is_whole(event, link) for event in theirs)
