"""How each thing that passes between members, and each effect that users see, reads in one line.

An empty line means that it is not shown. Names without incarnation are in their first one: alice, alice#2, …
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gcom.core.messages import effects, frames, registry, sequencer, witness
from gcom.core.messages.effects import Effect
from gcom.core.messages.frames import NO_BALLOT, ORDER, Ballot, Control, Decision
from gcom.core.messages.orders import Orders
from gcom.core.messages.sequencer import SequencerAnswer, SequencerRequest
from gcom.values.envelope import Envelope, Kind
from gcom.values.names import Process
from gcom.values.run import Fragment, Payload, Run, StateToMerge
from gcom.values.view import View

TEXT_MAX = 40  # characters of a payload that are shown; of a longer one only how many they are
Asked = registry.Request | SequencerRequest
Told = registry.Answer | SequencerAnswer


def who(process: Process) -> str:
    """A process by its name; the order of a view is told like one more stream."""
    return "order" if process == ORDER else process.removesuffix("#1")


def every(processes: Iterable[Process]) -> str:
    return ", ".join(map(who, processes)) or "nobody"


def text(payload: Payload) -> str:
    if isinstance(payload, StateToMerge):
        return f"state {payload.decode()}"
    said = payload.decode() if isinstance(payload, bytes) else f'"{payload}"'
    return said if len(said) <= TEXT_MAX else f"({len(payload)} characters)"


def span(sender: Process, first: int, last: int) -> str:
    """Messages first … last of a sender."""
    return f"{who(sender)}:{first}" if first == last else f"{who(sender)}:{first}..{last}"


def place(serial: int, count: int) -> str:
    """Where messages are in a total order; none in another."""
    if not serial:
        return ""
    return f", serial {serial}" if count == 1 else f", serials {serial}..{serial + count - 1}"


def ends(streams: Mapping[Process, int]) -> str:
    """Write the last known number of each stream; not of those without any message."""
    return "{" + ", ".join(f"{who(sender)}:{last}" for sender, last in sorted(streams.items()) if last) + "}"


def ballot(value: Ballot) -> str:
    return f"{value[0]}.{value[1]}"


def messages(value: Run) -> str:
    return f"{span(value.sender, value.first, value.last)} {' '.join(map(text, value.payloads))}"


def run(value: Run) -> str:
    """A run as it travels, with what its sender had delivered before it and not before its previous one; its seal."""
    clock = f"  clock {ends(value.clock)}" if any(value.clock.values()) else ""
    seal = f"  {'seal, credential' if value.seal.credential else 'seal'}" if value.seal else ""
    return messages(value) + clock + seal


def fragment(value: Fragment) -> str:
    return f"{span(value.sender, value.first, value.first)} bytes {value.at_byte}..{value.end - 1} of {value.total}"


def orders(value: Orders) -> str:
    places = " ".join(span(*each) for each in value.spans)
    return f"order after {value.after}: {places or 'nothing yet'}"


def envelope(value: Envelope) -> str:
    about = "" if value.kind is Kind.UNICAST else f" of call {value.call}"
    return f"{value.kind.name.lower()}{about} {text(value.payload)}"


def reasons(gone: Mapping[Process, str]) -> str:
    """Processes, and why each is gone."""
    return ", ".join(f"{who(it)} ({why})" for it, why in sorted(gone.items()))


def change(view: View, joined: Iterable[Process], left: Mapping[Process, str]) -> str:
    """A view, and how it differs from the one before; of a first view all is new."""
    came = [who(it) for it in joined if view.number > 1 or len(view.members) > 1]
    differs = (f"; joined {', '.join(came)}" if came else "") + (f"; left {reasons(left)}" if left else "")
    return f"view {view.number}: {every(view.members)}{differs}"


def decision(value: Decision) -> str:
    begun = value.succession
    sources = ", ".join(f"{who(it)} from {who(donor)}" for it, (donor, _) in sorted(value.sources.items()))
    parts = [
        f"successor {begun.instance}: {every(value.view.members)}; gone {reasons(begun.gone)}"
        if begun
        else change(value.view, value.joined, value.left),
        f"cut {ends(value.cut)}" if any(value.cut.values()) else "",
        f"state: {sources}" if sources else "",
        "" if value.at_registry else "order at the leader",
    ]
    return "; ".join(filter(None, parts))


def control(item: Control) -> str:
    match item:
        case frames.Join(_, takes_state, reached):
            return "Join" + (", with state" if takes_state else "") + (f"; reached {every(reached)}" if reached else "")
        case frames.Redirect(process, _):
            return f"Redirect to {who(process)}"
        case frames.JoinRefused(code, _):
            return f"JoinRefused {code}"
        case frames.Reach(members, _):
            return f"Reach {every(members)} first"
        case frames.Prepare(view, value, succession):
            return f"Prepare {ballot(value)} to leave {'the instance at ' if succession else ''}view {view}"
        case frames.Promise(_, value, held, accepted_ballot, accepted):
            past = f", accepted {ballot(accepted_ballot)} {decision(accepted)}" if accepted else ""
            return f"Promise {ballot(value)}, holds {ends(held)}{past}"
        case frames.Nack(_, promised):
            return f"Nack, promised {ballot(promised)}"
        case frames.Cut(_, value, decided):
            return f"Cut {ballot(value)} {decision(decided)}"
        case frames.CutOk(_, value):
            return f"CutOk {ballot(value)}"
        case frames.Install(decided, _, value):
            return f"Install {ballot(value) + ' ' if value != NO_BALLOT else ''}view {decided.view.number}"
        case frames.Fetch(_, sender, first, last):
            return f"Fetch {span(sender, first, last)}"
        case frames.StateChunk(view, index, count, _):
            return f"StateChunk {index} of {count}, state of view {view}"
        case frames.StateRefused(view, why):
            return f"StateRefused of view {view}: {why}"
        case frames.MergeInto(process, _):
            return f"MergeInto the instance of {who(process)}"
        case frames.DiscoverRequest(view, _, _):
            return f"DiscoverRequest, was in view {view}"
        case frames.DiscoverReply(view, members, process, _):
            return f"DiscoverReply: view {view} of {who(process)}, members: {members}"
        case frames.Probe(_, silent):
            return f"Probe: do you hear {every(silent)}?"
        case frames.IndirectAck(_, heard):
            return f"IndirectAck: I hear {every(heard)}"


def effect(value: Effect) -> str:
    match value:
        case effects.Deliver(made, _, serial):
            return f"deliver {messages(made)}{place(serial, len(made.payloads))}"
        case effects.Skip(sender, first, count, _, serial):
            return f"skip {span(sender, first, first + count - 1)}{place(serial, count)}"
        case effects.Installed():
            return installed(value)
        case effects.Quorum(view, has, in_doubt):
            doubt = f"; in doubt: messages {in_doubt[0]}..{in_doubt[1]}" if in_doubt else ""
            return f"quorum of view {view} heard again" if has else f"detached: hears no quorum of view {view}{doubt}"
        case effects.DoubtSettled(first, last, arrived):
            return f"settled: messages {first}..{last} {'arrived' if arrived else 'never arrive'}"
        case effects.Suspected(process, _, reason):
            return f"suspect {who(process)} ({reason})"
        case effects.Ended(_, reason, _, _, into):
            return f"ended ({reason})" + (f", goes over to {into}" if into else "")
        case effects.EntryFailed(error):
            return f"not admitted: {error}"
        case effects.TakeState(view):
            return f"ask the application for its state at view {view}"
        case effects.SetState(view, data, donor):
            return f"set state {text(data)} of view {view} from {who(donor)}"
        case effects.StateUnavailable(view, reason):
            return f"no state of view {view}: {reason}"
        case effects.MergeState(_, sender, data):
            return f"merge state {text(bytes(data))} that {who(sender)} brings"
        case effects.DeliverUnicast(sender, payload):
            return f"deliver unicast {text(payload)} of {who(sender)}"
        case effects.UnicastLost(target, payloads):
            return f"unicasts to {who(target)} lost: {' '.join(map(text, payloads))}"
        case effects.Serve(caller, call, payload):
            return f"serve call {call} of {who(caller)}: {text(payload)}"
        case effects.Answered(call, member, outcome, payload):
            return f"result of call {call}: {who(member)} {outcome}" + (f" {text(payload)}" if payload else "")
        case effects.GroupCallOver(call):
            return f"call {call} is over"
        case _:
            return ""  # what is asked of others is shown as a request, and what was sent as a run


def installed(value: effects.Installed) -> str:
    ended = value.succeeds
    if not ended:
        return f"install {change(value.view, value.joined, value.left)}"
    after = f"after view {ended.view} of {ended.instance}" + (f"; gone {reasons(ended.gone)}" if ended.gone else "")
    return f"install view {value.view.number}: {every(value.view.members)}; {after}"


def request(value: Asked) -> str:
    match value:
        case registry.Lookup(group):
            return f"Lookup {group}"
        case registry.Claim(group, _, view):
            return f"Claim {group}" + (f" after view {view}" if view else "")
        case registry.Register(_, instance, view, _, detached):
            return f"Register view {view.number} of {instance}{', detached' if detached else ''}"
        case registry.Note(_, _, view, joiners):
            return f"Note {every(it for it, _ in joiners)} for the view after {view}"
        case registry.Unregister(group):
            return f"Unregister {group}"
        case witness.WitnessPrepare(_, view, value_):
            return f"WitnessPrepare {ballot(value_)} to leave view {view}"
        case witness.WitnessAccept(_, _, value_, decided):
            return f"WitnessAccept {ballot(value_)} {decision(decided)}"
        case sequencer.Open(_, _, view, serial):
            return f"Open view {view} after serial {serial}"
        case sequencer.Want(_, _, _, process, upto, after):
            return f"Want serials for {who(process)} up to {upto}; order after {after}"
        case sequencer.Close():
            return "Close"
        case _:
            return type(value).__name__


def answer(value: Told | None) -> str:
    match value:
        case None:
            return "no answer"
        case registry.GroupInfo(_, instance, view, members):
            return f"view {view} of {instance}: {every(members)}" if view else "an empty group"
        case registry.Refusal(code, _):
            return f"Refusal {code}"
        case witness.WitnessPromised(_, value_, noted):
            return f"WitnessPromised {ballot(value_)}" + (f", noted {every(it for it, _ in noted)}" if noted else "")
        case witness.WitnessDecided(_, decided, value_):
            return f"WitnessDecided {ballot(value_)} {decision(decided)}"
        case witness.WitnessNack(_, promised):
            return f"WitnessNack, promised {ballot(promised)}"
        case Orders():
            return orders(value)
        case _:
            return type(value).__name__
