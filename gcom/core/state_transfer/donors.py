"""The donors of the application's state, as the value of a view change names it (docs/protocols/state.md).

Only promises make donors, so all who read the value agree on who has the state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gcom.core.messages.frames import NO_STANDING, Keeping, Source, Standing
from gcom.values.lineage import NO_EXTENT, Extent
from gcom.values.names import Process

# Who has more of the state comes later, and is asked before the others.
_BY_AMOUNT = (Keeping.NOTHING, Keeping.AWAITED, Keeping.LATER, Keeping.WHOLE)
_AWAITED = Standing(Keeping.AWAITED)  # as a joiner that goes on with its own state


def sources(
    number: int,
    standings: Mapping[Process, Standing],
    joiners: Mapping[Process, Extent],
    *,
    anew: bool = False,
    merging: bool = False,
) -> dict[Process, Source]:
    """Return the source of the state for each member that waits in view `number`, and for joiners.

    `standings` are of the members that stay, oldest first; `joiners` say how far their own states reach, as
    `Standing.own` does. A donor that stays, and has not failed, is kept, unless the views are numbered `anew`. A member
    that has itself for source goes on with its own state, or with what it has seen since it entered; where states are
    `merging` the latter comes first. A member without a source goes on without.
    """
    # WHOLE before LATER. 1. The last donor dies, and B goes on as LATER, without the old state. 2. C, which is WHOLE,
    # was only slow. If B could be asked, a joiner would get a part of the history as if it were all.
    donors = [who for who, standing in standings.items() if standing.keeping is Keeping.WHOLE]
    # One of them only: two that are LATER may have begun at different views, and have different states.
    donors = donors or [who for who, standing in standings.items() if standing.keeping is Keeping.LATER][:1]
    waiting = {who: standing.own for who, standing in standings.items() if standing.keeping is Keeping.AWAITED}
    waiting |= joiners
    if not donors:
        longest, latest = _longest(standings), _latest(waiting)
        donors = longest or latest if merging else latest or longest
    found: dict[Process, Source] = {}
    for who in waiting:
        standing = standings.get(who, NO_STANDING)
        source = standing.source
        # Kept through other changes, or a large state would begin anew with every view while members come and go.
        if anew or source is None or source[0] not in standings or source[0] in standing.failed:
            left = (donor for donor in donors if donor not in standing.failed)
            source = next(((donor, number) for donor in left), None)
        if source is not None:
            found[who] = source
    return found


def leaver_to_keep(
    standings: Mapping[Process, Standing],
    leavers: Collection[Process],
    joiners: Mapping[Process, Extent],
    *,
    anew: bool = False,
    merging: bool = False,
) -> Process | None:
    """Return the leaver that has to stay for one view, as a donor, as nobody who stays can give as much of the state.

    `standings` are of those who stay and of the `leavers`, oldest first; the rest as in `sources`.
    """
    # 1. `a` and b have the state; `a` gives it to z, which is new. 2. b leaves, and `a` dies, or falls silent. 3. A
    # view of z alone would begin without the state, though b is here, and has time. If b awaits the state as well, and
    # has waited longer, that view would lack what b holds back: it was confirmed, perhaps, and nobody else may have it.
    staying = {who: standing for who, standing in standings.items() if who not in leavers}
    # Once for each: one that was named, and leaves all the same, cannot give it.
    named = {standing.source[0] for standing in staying.values() if standing.source}
    can = [who for who in standings if who in leavers and who not in named]
    together = {who: standing for who, standing in standings.items() if who in staying or who in can}
    without = sources(0, staying, joiners, anew=anew, merging=merging)
    needed = set()
    for taker, (donor, _) in sources(0, together, joiners, anew=anew, merging=merging).items():
        if donor in can and taker not in can:
            other = staying.get(without[taker][0], _AWAITED) if taker in without else NO_STANDING
            most, best = standings[donor].keeping, other.keeping
            # Of two that await it the one that `sources` prefers may hold more.
            if most is Keeping.AWAITED or _BY_AMOUNT.index(most) > _BY_AMOUNT.index(best):
                needed.add(donor)
    return next((who for who in can if who in needed), None)


def _latest(waiting: Mapping[Process, Extent]) -> list[Process]:
    """Return the one that waits whose own state reaches furthest; empty if none has any."""
    # 1. B was put out, and is back. 2. A, which alone has the state, dies as it gives it. 3. B lacks what came while
    # it was out, and that is lost. If all began anew here, all that B had would be lost as well.
    best = max(waiting, key=lambda who: waiting[who], default="")
    return [best] if waiting.get(best, NO_EXTENT) > NO_EXTENT else []


def _longest(standings: Mapping[Process, Standing]) -> list[Process]:
    """Return the member without a state of its own that has waited longest; empty if none waits."""
    # 1. B and C wait for A's state. 2. m is confirmed: A and B hold it. 3. A dies. B has m, though it has not read it
    # while it waits. If all began anew at this barrier, m would be lost, and two of three that held it live.
    # Not one with its own where sides merge: what others have brought there might be in none of the states that go on.
    waiting = (who for who, standing in standings.items() if standing.keeping is Keeping.AWAITED)
    return [who for who in waiting if standings[who].own == NO_EXTENT][:1]
