"""`gcom status GROUP`: each member is asked how it stands, and the answers are put beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from time import monotonic

from gcom.cli.commands.directory import columns, state_of
from gcom.cli.output import Output, harmless, notice
from gcom.cli.rows import describe
from gcom.core.messages.registry import GroupInfo
from gcom.errors import GComError, RegistryUnavailable
from gcom.runtime.inspection.status import MemberStatus, ask_member
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.security.process import Security, credentials_for
from gcom.values import limits
from gcom.values.names import Process, name_of, place_of

ASK_S = 3.0  # a member that is paused or gone is told as silent, and the page comes all the same
CLEAR = "\x1b[H\x1b[2J"


@dataclass(frozen=True, slots=True)
class MemberAnswer:
    """The answer of one member: its status, or in words why there is none. `took_s`: the way there and back."""

    process: Process
    place: str
    status: MemberStatus | None
    failure: str
    took_s: float


def show(directory: DirectoryClient, output: Output, group: str, as_json: bool) -> int:
    """Print how a group stands; return 1 if a member did not tell."""
    entry = directory.lookup(group)
    # Of the members and not of the registry: it knows a view, and nothing of what is under way.
    answers = ask_all(entry, credentials_for(directory.address))
    if as_json:
        for answer in answers:
            output.row(_row(group, entry, answer))
    else:
        for line in lines(entry, answers):
            output.text(harmless(line))
    output.flush()
    if not answers:
        notice(f"group {group!r} has no members; join it with: gcom join {group} --name NAME")
    return int(any(answer.status is None for answer in answers))


def watch(directory: DirectoryClient, output: Output, group: str, as_json: bool, every_s: float) -> None:
    """Print how the group stands every `every_s` seconds, until a signal ends it."""
    pause = Event()
    while True:
        if output.terminal and not as_json:
            # Only where somebody looks: a program that reads would get the terminal's codes as text.
            output.text(CLEAR)
        try:
            show(directory, output, group, as_json)
        except RegistryUnavailable as error:  # it may be back at the next look
            notice(str(error))
        pause.wait(every_s)
        # An empty line parts two pages of a file; JSON needs none, and a terminal was cleared.
        if not (as_json or output.terminal):
            output.text("")


def ask_all(entry: GroupInfo, credentials: Security) -> list[MemberAnswer]:
    seats = list(zip(entry.members, entry.addresses, strict=True))
    if not seats:
        return []
    # All at once: of 64 members that are silent each would else take its three seconds.
    with ThreadPoolExecutor(min(len(seats), limits.MEMBERS_MAX)) as pool:
        # In the order of the view, however the answers come: the page must not jump under `watch`.
        return list(pool.map(lambda seat: _ask(seat[0], seat[1], entry.definition.group, credentials), seats))


def _ask(process: Process, address: str, group: str, credentials: Security) -> MemberAnswer:
    status, failure, began = None, "", monotonic()
    try:
        status = ask_member(address, name_of(process), group, credentials, ASK_S)
    except GComError as error:
        failure = str(error)
    # Of those that do not answer as well: then it is how long they were waited for.
    return MemberAnswer(process, place_of(address), status, failure, monotonic() - began)


def lines(entry: GroupInfo, answers: Sequence[MemberAnswer]) -> Iterator[str]:
    """Yield the page for people."""
    yield f"{entry.definition.group}: {describe(entry.definition)}; view {entry.view}, {state_of(entry)}"
    told = [answer.status for answer in answers if answer.status]
    # By the eldest member that answered: the order is the same for all, and how much of it each knows differs by a
    # moment.
    for status in told[:1]:
        if order := status.sequencer:
            doubt = ", which does not answer" if order.doubted else ""
            known = f"serial {order.ordered} is known, {order.agreed} agreed, {order.delivered} delivered"
            yield f"order: from {_where(order.where)}{doubt}; at {name_of(status.process)} {known}"
    yield from _columns(answers, told)
    for answer in answers:
        if answer.status is None:
            yield f"{name_of(answer.process)} did not tell: {answer.failure}"
    for status in told:
        yield from _remarks(status, entry)


def _where(where: str) -> str:
    return "the registry" if where == "registry" else name_of(where)


def _columns(answers: Sequence[MemberAnswer], told: Sequence[MemberStatus]) -> list[str]:
    titles = ("NAME", "WHERE", "STATE", "ROUND-TRIP", "UNREAD", "UNSTABLE", "UNSENT", "HELD-BACK", "SUSPECTED-BY")
    rows: list[tuple[str, ...]] = [titles]
    for rank, answer in enumerate(answers):
        by = [name_of(it.process) for it in told if answer.process in it.suspected]
        rows.append((name_of(answer.process), answer.place, *_cells(answer, rank, told), ",".join(by) or "-"))
    return columns(rows)


def _cells(answer: MemberAnswer, rank: int, told: Sequence[MemberStatus]) -> tuple[str, ...]:
    """Return state, round trip, and what is under way; the round trip is the longest from another member."""
    # As the others measure it: what a member says of itself cannot show that it is the slow one.
    trips = [it.round_trip_s[answer.process] for it in told if answer.process in it.round_trip_s]
    trip = f"{max(trips) * 1000:.1f}ms" if trips else "-"
    status = answer.status
    if status is None:
        return ("silent", trip, "-", "-", "-", "-")
    state = "detached" if status.detached else "leader" if rank == 0 else "member"
    held = len(status.held_back) + status.held_back_rest
    unread = f"{max(status.unread_by.values(), default=0)}/{status.window}"
    return (state, trip, unread, str(status.unstable), str(status.unsent), str(held))


def _remarks(status: MemberStatus, entry: GroupInfo) -> Iterator[str]:
    """Yield the remarks below the table: which member holds up which, and suspicions."""
    me = name_of(status.process)
    # Not wrong by itself: a view is in force a moment before its leader registers it. If it stays so, this member is
    # not in the view that goes on.
    if status.view != entry.view:
        yield f"{me} is in view {status.view}, and the registry knows view {entry.view}"
    if status.waits_for:
        yield f"{me} cannot send: it waits for {status.waits_for}"
    # Three of each: the page is read by somebody in trouble, and --json has them all.
    for who, count in sorted(status.unread_by.items(), key=lambda it: -it[1])[:3]:
        if who == status.process:
            yield f"{me} has {count:,} of its own messages to read"
        else:
            yield f"{name_of(who)} holds up {me}: it has {count:,} of its messages to read"
    for words, since in status.held_back[:3]:
        yield f"{me} holds back {words}, for {since:.1f} s"
    for who, why in status.suspected.items():
        silent = f", silent for {status.heard_s[who]:.1f} s" if who in status.heard_s else ""
        yield f"{me} suspects {name_of(who)} ({why}){silent}"


def _row(group: str, entry: GroupInfo, answer: MemberAnswer) -> dict[str, object]:
    row = {"type": "status", "group": group, "process": answer.process, "name": name_of(answer.process)}
    found = {"address": answer.place, "took_s": round(answer.took_s, 6), "registered_view": entry.view}
    if answer.status is None:
        return {**row, **found, "failure": answer.failure}
    # What was asked stands over what was told: an answer must not name another process, or another place.
    return {**answer.status.as_row(), **row, **found}
