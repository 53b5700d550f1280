"""The registry's table of groups: a pure machine (ARCHITECTURE 10, 11; GCom 2009 §4.1.10, §7.2, §7.5).

The group is the truth and this table follows it: members register their instance and view, the leader every RENEW_MS,
each detached member as well. Every write is a compare-and-set on (instance, view): a stale one is refused and told.

An entry is *empty* (view 0: nobody in it), *alive* (a member that hears a quorum has renewed its lease) or *doubted*.
Doubted is not dead: its members may be detached, or the registry may be what was cut off. So a name is given away only
where nobody is known to have it: no member of the latest view, nobody noted for the next, nobody registered in an older
one, that is not proven dead (docs/protocols/continuity.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from gcom.core.directory import copies
from gcom.core.directory.askers import Askers, askers, sequencer_askers
from gcom.core.directory.contests import Contests
from gcom.core.directory.pages import page
from gcom.core.directory.refusals import (
    NO_TIE_BREAKER,
    NO_VOTE,
    contested,
    different,
    full,
    in_use,
    not_invited,
    stale,
    starting,
    stranger,
    unknown,
)
from gcom.core.directory.rows import DissolvedInstance, Mint, Row, Store, census, stands_above
from gcom.core.directory.tombstones import RegistryTombstones
from gcom.core.directory.witness import Witness
from gcom.core.messages.frames import ENDED
from gcom.core.messages.registry import (
    Answer,
    Claim,
    Create,
    Done,
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
from gcom.core.messages.sequencer import Close, Open, SequencerRequest, Want
from gcom.core.messages.witness import (
    WitnessAccept,
    WitnessDecided,
    WitnessPassed,
    WitnessPrepare,
    WitnessPromised,
    WitnessRequest,
)
from gcom.values import limits, lineage, names
from gcom.values.definition import Definition, Netsplit, TieBreaker
from gcom.values.view import View


class Directory:
    """The table. `mint` gives instance ids, and knows its own.

    `witness` keeps this registry's votes; where they are not `durable` it gives none in a tie. `store` has what was
    known before, and keeps what changes. For `grace_ms` of running time no name is given away.
    """

    def __init__(
        self,
        mint: Mint,
        witness: Witness | None = None,
        store: Store | None = None,
        durable: bool = True,
        grace_ms: int = 0,
    ) -> None:
        self._mint = mint
        self._ties = witness if durable else None
        self._witness = witness or Witness((), lambda record: None)
        self._store = store or Store()
        # Without leases: who lives is told by the members within a second, and no name is given away before.
        self._rows = {row.definition.group: row for row in self._store.rows()}
        self._tombstones = RegistryTombstones(self._store)
        self._contests = Contests(mint)
        self._heard_ms: int | None = None  # the driver's time at the last step
        self._running_ms = 0  # leases count the time that this registry itself ran
        self._grace_until_ms = grace_ms

    # time

    def tick(self, now_ms: int) -> None:
        """Let time pass; a driver calls this every TICK_MS. A longer step is a pause of the registry's own."""
        passed_ms = 0 if self._heard_ms is None else max(0, now_ms - self._heard_ms)
        self._heard_ms = now_ms
        # 1. The registry is stopped, and a group's leader cannot renew. 2. It runs on, and a claim is the first thing
        # that it reads. If the pause counted, the lease would be over, and a living group's name given away.
        self._running_ms += min(passed_ms, 2 * limits.TICK_MS)
        if passed_ms > 2 * limits.TICK_MS + limits.LAG_MS:
            self._grace_until_ms = max(self._grace_until_ms, self._running_ms + 2 * limits.RENEW_MS)

    @property
    def grace_ms(self) -> int:
        """The time, in ms, for which it still gives no name away."""
        return max(0, self._grace_until_ms - self._running_ms)

    # requests

    @property
    def rows(self) -> Mapping[str, Row]:
        """The entries by group, to be looked at alone."""
        return self._rows

    def askers(self, request: Request | SequencerRequest) -> Askers:
        """Return the processes of which one must ask this, or None where anybody may."""
        if isinstance(request, Open | Want | Close):
            return sequencer_askers(request, self._rows)
        return askers(request, self._rows)

    def ask(self, request: Request, now_ms: int) -> Answer:
        """Carry out one request, whole or not at all. `now_ms` never goes back."""
        self.tick(now_ms)
        if elsewhere := copies.refused(request, self._rows):
            return elsewhere
        match request:
            case Create():
                return self._on_create(request)
            case Lookup():
                return self._on_lookup(request)
            case ListGroups():
                return self._on_list(request)
            case Claim():
                return self._on_claim(request)
            case Register():
                return self._on_register(request)
            case Note():
                return self._on_note(request)
            case Unregister():
                return self._on_unregister(request)
            case Remove():
                return self._on_remove(request)
            case Fork():
                return self._on_fork(request)
            case WitnessPrepare() | WitnessAccept():
                return self._on_vote(request)
            case _:
                assert_never(request)

    def _on_create(self, request: Create) -> Answer:
        wanted = request.definition
        row = self._rows.get(wanted.group)
        # A vote that does not outlive the registry could be given twice.
        if row is None and wanted.tie_breaker is TieBreaker.REGISTRY and self._ties is None:
            return NO_TIE_BREAKER
        if row is None:
            return self._unready(wanted.group) or self._full(wanted.group) or self._add(wanted)
        # Creating it again with the same words is no error: several members may start with "create it first".
        if row.definition != wanted:
            return different(row.definition, wanted)
        return self._entry(row)

    def _add(self, wanted: Definition) -> GroupInfo:
        """Put a new entry into the table, with nobody in it, and return it."""
        before, minted = self._tombstones.of(wanted.group), self._mint.new(wanted.group)
        if before is None:
            return self._put(Row(wanted, minted))
        # The name follows the instance that all have left, though nothing of it: a member that was cut off meanwhile
        # and comes back must find that its own is over.
        instance = lineage.successor(before.instance, minted[-8:])
        return self._put(Row(wanted, instance, after=(before.instance, before.view)))

    def _on_lookup(self, request: Lookup) -> Answer:
        row = self._rows.get(request.group)
        over = self._tombstones.ended(request.group, request.former)
        if over or row is None:
            farewell = self._tombstones.farewell(request.group)
            return over or farewell or self._unready(request.group) or unknown(request.group)
        return self._entry(row)

    def _on_list(self, request: ListGroups) -> Answer:
        # By name and from the last one on: a group that comes or goes between two pages moves no other one out.
        later = sorted(name for name in self._rows if name > request.after)
        return page(self._entry(self._rows[name]) for name in later)

    def _on_claim(self, request: Claim) -> Answer:
        row = self._rows.get(request.group)
        if row is None:
            return unknown(request.group)
        # Asked again, because our answer was lost; a process id has one owner. Not where the claim is of that view
        # itself: then the process was granted it, and has vowed meanwhile to be no member of it.
        granted = row.view is not None and row.number == 1 and row.view.members == (request.process,)
        if granted and (request.instance, request.view) != (row.instance, 1):
            return self._entry(row)
        refusal = self._unclaimable(row, request)
        if refusal:
            return refusal
        view = View(1, (request.process,), (request.address,))
        if row.view is None:
            return self._put(replace(row, view=view, renewed_ms=self._running_ms))
        # Its members are dead, or have vowed. The id carries its lineage, so that none of them, if the proof was wrong,
        # takes it for a stranger founded later.
        # Processes that an operator gave up may come back, and must be able to tell that nothing of theirs is in it.
        anew = not row.known.keys() <= set(request.gone)
        instance = lineage.successor(row.instance, request.process.partition("#")[2], anew)
        after = (row.instance, row.number)
        # An operator's order needs no proof; a claim's proof is the claimant's own word.
        if not anew:
            self._contests.begin(row, self._running_ms, claimed=True)
        # 1. A and B were put out, and come back; A begins anew. 2. It dies before B is in. 3. If nobody knew of B, a
        # newcomer would begin with nothing.
        return self._put(Row(row.definition, instance, view, self._running_ms, after=after).with_seats(request.away))

    def _unclaimable(self, row: Row, request: Claim) -> Refusal | None:
        group, name = row.definition.group, names.name_of(request.process)
        if row.definition.static and name not in row.definition.static:
            return not_invited(row, name)
        if (row.instance, row.number) != (request.instance, request.view):
            return stale(row, f"not instance {request.instance} in view {request.view}: look it up again")
        if row.view is None:
            return self._unready(group)
        # Leases only delay a claim. They never free a name: a member that cannot renew may be detached, and have all.
        if row.alive(self._running_ms):
            return stale(row, "and its lease runs: ask its members, or look it up again later")
        # By an operator's order, and what is left had its time to go on.
        if row.freed(self._running_ms):
            return None
        if not row.known.keys() <= set(request.gone):
            waits = ", ".join(sorted(row.known.keys() - set(request.gone))[:5])
            return stale(row, f"and {waits} may have it: its name is free when all of these are dead, or have left")
        return self._unready(group)

    def _on_register(self, request: Register) -> Answer:
        """Take a member's registration. The group is the truth: it stands, unless the entry proves it stale."""
        group = request.definition.group
        row = self._rows.get(group)
        if self._contests.disputes(request, row, self._running_ms):
            row = self._contests.settle(request)
            if row is None:
                return contested(group)
            self._take_back(row)
        elsewhere = row is None or row.instance != request.instance
        # Before the definitions are compared: the name may have been founded anew with another definition.
        if elsewhere and (over := self._over(group, request)):
            return over
        if row is None:
            return self._full(group) or self._put(self._learned(request))
        if refusal := self._not_a_member(row, request):
            return refusal
        # Nobody in service says otherwise, so the definition of a living member counts for more.
        in_doubt = row.view is None or not (row.alive(self._running_ms) or request.detached)
        if row.definition != request.definition and in_doubt:
            return self._put(self._learned(request).with_seats(row.known.items()))
        if row.instance != request.instance:
            return self._on_rival(row, request)
        if row.definition != request.definition:
            return different(row.definition, request.definition)
        # This registry ended between its vote and its table: the vote is the decision, and heals the table.
        decided = self._witness.decided(request.instance, request.view.number)
        if decided and decided.decision.succession:
            self._succeed(row, decided)
        return decided or self._on_renewal(row, request)

    def _not_a_member(self, row: Row, request: Register) -> Answer | None:
        """Return the answer to a process that may not change the entry: nothing that is known makes it a member."""
        static = row.definition.static
        if uninvited := [name for name in request.view.names if static and name not in static]:
            return not_invited(row, uninvited[0])
        if self._contests.admit(row, request, self._running_ms):
            return None
        # A process of another instance, or of an older view, is told what has come since.
        is_late = row.instance != request.instance or request.view.number < row.number
        return self._entry(row) if is_late else stranger(row, request.process)

    def _take_back(self, row: Row) -> None:
        """Put an entry in its place again that another process took the name from, and maybe buried."""
        group = row.definition.group
        if self._tombstones.ended(group, row.instance):
            self._tombstones.forget(group)
        self._put(row)

    def _over(self, group: str, request: Register) -> WitnessDecided | Refusal | None:
        """Return what became of the instance that a member registers, if it is known to be over."""
        decided = self._witness.decided(request.instance, request.view.number)
        return decided or self._tombstones.told(group, request.instance)

    def _learned(self, request: Register) -> Row:
        """Return a row for an instance of which this registry knows no more than this registration."""
        renewed_ms = None if request.detached else self._running_ms
        where = (request.definition, request.instance, request.view)
        return Row(*where, renewed_ms, self._running_ms, forgot=True).with_seats(request.away)

    def _on_renewal(self, row: Row, request: Register) -> Answer:
        number = request.view.number
        # Two member lists of one view number cannot both be decided: somebody lies, or two registries share a folder.
        if row.view and number == row.number and row.view.members != request.view.members:
            return stale(row, "and a view is decided once: look it up again")
        # Not refused silently: this member missed a view, and may be all that is left with what the group had.
        if number < row.number:
            row = replace(row, heard_ms=self._running_ms)
            return self._put(row.with_seats([(request.process, request.view.address(request.process))]))
        # Notes are of one view. This one is registered, so each noted process is a member, or will never be.
        noted = row.noted if number < row.noted_view else ()
        now_ms = self._running_ms
        renewed_ms, forked_ms = (row.renewed_ms, row.forked_ms) if request.detached else (now_ms, None)
        row = row.registered(request.view, noted, now_ms, renewed_ms, forked_ms)
        return self._put(row.with_seats(request.away))

    def _on_rival(self, row: Row, request: Register) -> Answer:
        """Take the registration of another instance of the name."""
        # A group meets a registry that forgot it. 1. The registry starts, empty. 2. Somebody creates the name. 3. The
        # group's leader registers. Nobody is in the entry, so nobody is cut off.
        if row.view is None:
            return self._put(self._learned(request))
        alive, descends = row.alive(self._running_ms), lineage.descends(row.instance, request.instance)
        # Of two that are alive one stands above, whichever came first. A detached one displaces none that is in
        # service, but is remembered: it may have what the other lacks. Nor does it keep the entry from one that is:
        # 1. C is paused, A and B die, and the registry forgets. 2. Z founds the name. 3. C runs again, registers before
        # it has missed the others, and stands above. 4. It is detached for good, and Z is in service.
        above = stands_above(request, row) and not (request.detached and alive)
        if above or not (alive or request.detached or descends):
            # Nobody that may have the name is forgotten with the entry: the instance that goes below may have
            # what this one lacks.
            others = row.known if request.definition.netsplit is Netsplit.PRIMARY else {}
            return self._put(self._learned(request).with_seats(others.items()))
        if request.definition.netsplit is Netsplit.PARTITIONABLE:
            return self._entry(row) if alive else self._put(self._learned(request))
        # A predecessor's members are in the successor, or out of it. Strangers are remembered: they may have
        # the name.
        here = zip(request.view.members, request.view.addresses, strict=True)
        return self._put(row if descends else row.with_seats(here))

    def _on_note(self, request: Note) -> Answer:
        row = self._rows.get(request.group)
        if row is None:
            return unknown(request.group)
        if (row.instance, row.number) != (request.instance, request.view):
            return stale(row, f"not instance {request.instance} in view {request.view}: register it first")
        # Notes of an older view are over; within one view they only grow, since the leader may change under it.
        noted = dict(row.noted) if row.noted_view == request.view + 1 else {}
        noted |= dict(request.joiners)
        if len(noted) > limits.SEATS_MAX:
            return Refusal("Unavailable", f"more than {limits.SEATS_MAX} wait to join group {request.group!r}")
        self._put(replace(row, noted=tuple(noted.items()), noted_view=request.view + 1))
        return Done()

    def _on_unregister(self, request: Unregister) -> Answer:
        row = self._rows.get(request.group)
        # Of a group that it does not know it keeps no end: any process could bury what this registry forgot.
        if row is None:
            return Done()
        # A late word of an older view must not take a living group's name.
        if row.instance != request.instance or row.number > request.view:
            return stale(row, f"not instance {request.instance} in view {request.view}: it is its members' to forget")
        if request.process not in row.members_to_be:
            return stranger(row, request.process)
        # Not known to be of the group, it has no end of the group to tell: those who are register again.
        if self._contests.is_hearsay(row, self._running_ms):
            self._drop(request.group)
            return Done()
        self._dissolve(DissolvedInstance.said_by(request, at_home=not row.definition.home))
        return Done()

    def _dissolve(self, end: DissolvedInstance) -> None:
        """Forget a group, and remember its end."""
        self._drop(end.group)
        self._tombstones.bury(end)

    def _on_remove(self, request: Remove) -> Answer:
        row = self._rows.get(request.group)
        if row is None:
            return unknown(request.group)
        # By an operator's order, which no member has obeyed. One that comes back is told that the group is over.
        if row.view and row.freed(self._running_ms):
            self._dissolve(DissolvedInstance(request.group, row.instance, row.number))
        # Removing it would free the name of a group that lives, or is detached and has what it had.
        elif row.view:
            return in_use(
                row, row.view, "" if self.grace_ms else row.state(self._running_ms), row.frees_in_ms(self._running_ms)
            )
        else:
            self._drop(request.group)
        return Done()

    def _on_fork(self, request: Fork) -> Answer:
        row = self._rows.get(request.group)
        if row is None:
            return unknown(request.group)
        # An order is of one instance: what the operator looked at may have been succeeded meanwhile.
        if row.instance != request.instance:
            return Refusal("Unavailable", f"group {request.group!r} has begun anew meanwhile: look at it again")
        if row.view is None:
            return Refusal("Unavailable", f"group {request.group!r} is empty: whoever joins it begins it")
        # On the registry's own running time: one that slept must not use up the minute in which members take the order.
        return self._put(replace(row, forked_ms=self._running_ms))

    def _on_vote(self, request: WitnessRequest) -> Answer:
        """Vote as an acceptor: of a tie, or the last one of a succession."""
        # Ties need a durable vote; a succession does not, since its value is in the entry as well.
        if not request.group:
            return self._ties.ask(request) if self._ties else NO_VOTE
        decided = self._witness.decided(request.instance, request.view)
        row = self._rows.get(request.group)
        if decided:
            return decided
        if row is None or row.instance != request.instance:
            return Refusal("Unavailable", f"this registry does not have instance {request.instance} of the group")
        # 1. C is put out of view 3, and sleeps. 2. D comes; A and B leave; D dies, alone in view 7. 3. C runs again: of
        # view 3 nobody else is left. What it sent since in view 3 the others went on without.
        if isinstance(request, WitnessPrepare) and row.is_out(request.process, request.view):
            return WitnessPassed(row.number)
        # It cannot say who was noted, so its promise would be worth nothing until an operator vouches for the rest.
        if row.forgot and not row.forked(self._running_ms):
            text = f"this registry forgot group {request.group!r}: gcom fork {request.group} lets what is left go on"
            return Refusal("Unavailable", text)
        answer = self._witness.ask(request)
        if isinstance(answer, WitnessPromised):
            # The promise names all who may be in a later view, so that the proposer asks them
            # (docs/protocols/continuity.md, story 6).
            return replace(answer, noted=tuple(row.later(request.view).items()))
        if isinstance(answer, WitnessDecided) and answer.decision.succession:
            self._succeed(row, answer)
        return answer

    def _succeed(self, row: Row, decided: WitnessDecided) -> None:
        """Put the successor in the entry's place: what was accepted last of all is the group now."""
        made, view = decided.decision.succession, decided.decision.view
        assert made is not None, "of a succession"
        first = View(1, view.members, view.addresses, view.started)
        after = (row.instance, decided.view)
        # Whose session is over may be on its way back, with what the group had.
        back = [(who, at) for who, at in row.known.items() if made.gone.get(who) == ENDED]
        fresh = Row(row.definition, made.instance, first, self._running_ms, after=after, older=row.older)
        self._put(fresh.with_seats(back))

    # what is kept

    def _put(self, row: Row) -> GroupInfo:
        before = self._rows.get(row.definition.group)
        # On the disk before it is answered, and only if something durable has changed: not for each renewal.
        if before is None or before.durable != row.durable:
            self._store.save(row)
        self._rows[row.definition.group] = row
        return self._entry(row)

    def _drop(self, group: str) -> None:
        if self._rows.pop(group, None):
            self._store.drop(group)

    def bury(self, group: str, instance: str, view: int, dead: Iterable[str]) -> bool:
        """Forget a group all of whose processes are `dead`, as their kernel says; return whether it was forgotten."""
        row = self._rows.get(group)
        # A copy may lack a view, and who is in it: only the home knows everybody who may have the name.
        if (
            row is None
            or row.definition.home
            or (row.instance, row.number) != (instance, view)
            or not row.known.keys() <= set(dead)
        ):
            return False
        # Of sides that go on by themselves one that was put out may be unknown here: it did not see all leave.
        if row.definition.netsplit is Netsplit.PARTITIONABLE:
            self._drop(group)
            return True
        # Its end is remembered: a process of it that comes back is told that all is over, and does not go on alone.
        self._dissolve(DissolvedInstance(group, instance, view))
        return True

    @property
    def doubted(self) -> list[GroupInfo]:
        """The groups that no member that hears a quorum registers."""
        return [self._entry(row) for row in self._rows.values() if row.view and not row.alive(self._running_ms)]

    def census(self) -> tuple[dict[str, int], int]:
        return census(self._rows.values(), self._running_ms)

    def _entry(self, row: Row) -> GroupInfo:
        return row.entry(self._running_ms)

    def _unready(self, group: str) -> Refusal | None:
        return starting(group, self.grace_ms) if self.grace_ms else None

    def _full(self, group: str) -> Refusal | None:
        return None if len(self._rows) < limits.DIRECTORY_GROUPS_MAX else full(group)
