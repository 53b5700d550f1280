"""Codec of decisions, as plain fields: a part of frames, and of what the registry keeps as an acceptor."""

from __future__ import annotations

from typing import Any

from gcom.core.codec import checked
from gcom.core.messages import frames
from gcom.core.messages.frames import Decision, Source
from gcom.errors import MalformedFrame
from gcom.values import limits, names
from gcom.values.names import Process
from gcom.values.view import View

_PROOFS = (frames.DEAD, frames.ENDED)


def _encode_view(view: View) -> tuple[Any, ...]:
    return (view.number, view.members, view.addresses, view.started)


def _view(fields: list[Any]) -> View:
    number, members, addresses, started = fields
    view = View(
        checked.number(number), checked.processes(members), tuple(map(names.address, addresses)), checked.flag(started)
    )
    # A view without members, or with one twice, would make a majority that no quorum meets.
    if not 0 < len(view.members) == len(view.addresses) or len(set(view.members)) != len(view.members):
        raise MalformedFrame("a view's members are empty, twice, or without addresses")
    return view


def plain_decision(decision: Decision | None) -> tuple[Any, ...] | None:
    if decision is None:
        return None
    view = decision.view
    # Ranks instead of names: with names a full group's decision would not fit beside runs in a frame.
    given = [(view.rank(who), view.rank(of), at) for who, (of, at) in decision.sources.items()]
    made = decision.succession
    succession = made and (made.instance, made.by, made.gone, made.gives_up)
    return (_encode_view(view), decision.joined, decision.left, decision.cut, decision.at_registry, given, succession)


def decision_of(fields: list[Any]) -> Decision:
    in_view, joined, left, cut, at_registry, given, succession = fields
    if (
        type(left) is not dict
        or len(left) > limits.MEMBERS_MAX
        or not all(isinstance(reason, str) and len(reason) <= 40 for reason in left.values())
    ):
        raise MalformedFrame("reasons")
    reasons = {checked.process(who): why for who, why in left.items()}
    view = _view(in_view)
    sources = dict(_source(source, view) for source in given)
    decision = Decision(
        view,
        checked.processes(joined),
        reasons,
        checked.streams(cut),
        checked.flag(at_registry),
        sources,
        None if succession is None else _succession(succession),
    )
    # The machines rely on both: a joiner is installed, and a leaver is not.
    if not set(decision.joined) <= set(decision.view.members) or not left.keys().isdisjoint(decision.view.members):
        raise MalformedFrame("a decision's view lacks who joined, or has who left")
    return decision


def _succession(fields: list[Any]) -> frames.Succession:
    instance, by, gone, gives_up = fields
    if by not in ("proof", "operator") or type(gone) is not dict or len(gone) > limits.MEMBERS_MAX:
        raise MalformedFrame("a succession by nothing that is known, or of too many")
    # Safety rests on proof, so a reason that is none must not pass for one.
    if not set(gone.values()) <= set(_PROOFS):
        raise MalformedFrame("a proof that is none")
    proofs = {checked.process(who): proof for who, proof in gone.items()}
    return frames.Succession(checked.instance(instance), by, proofs, checked.processes(gives_up))


def _source(fields: list[Any], view: View) -> tuple[Process, Source]:
    """Return one member's source of state, from ranks."""
    who, of, at = map(checked.number, fields)
    # A barrier of a later view does not exist yet: the joiner would wait for ever.
    if not 1 <= at <= view.number:
        raise MalformedFrame("a source of state at no view, or at a later one")
    return view.members[who], (view.members[of], at)
