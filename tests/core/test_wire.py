"""The wire is that of its version: the first change after a release raises PROTOCOL_VERSION. A mismatch is told."""

from __future__ import annotations

from typing import get_args
from zlib import crc32

import msgpack
import pytest

from gcom.core.codec import frames as codec
from gcom.core.codec import registry as directory_codec
from gcom.core.codec import sequencer as sequencer_codec
from gcom.core.messages import frames
from gcom.core.messages.frames import Control, Decision, Frame, Keeping, Refused, Standing, Status
from gcom.core.messages.orders import Orders
from gcom.core.messages.registry import (
    Answer,
    Claim,
    Create,
    Done,
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
from gcom.core.messages.sequencer import Close, Open, Opened, SequencerAnswer, SequencerRequest, Unknown, Want
from gcom.core.messages.witness import (
    WitnessAccept,
    WitnessDecided,
    WitnessFull,
    WitnessNack,
    WitnessPassed,
    WitnessPrepare,
    WitnessPromised,
)
from gcom.errors import VersionMismatch
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.envelope import Envelope, EnvelopeReceipt, Kind
from gcom.values.run import Fragment
from gcom.values.view import View
from tests.core.making import A, B, C, run

# What the examples below come to, and in which version. Another wire under the same version lets two released GComs
# misunderstand each other. While the CHANGELOG says of this version "unreleased", only write the new sum. Else raise
# limits.PROTOCOL_VERSION first, and write both here and in the CHANGELOG.
SUMS = {3: 1136877912}

VIEW = View(7, (A, B), ("a:1", "b:2"), started=False)
DECISION = Decision(VIEW, (B,), {C: "silence"}, {A: 5, B: 6, frames.ORDER: 9}, False, {B: (A, 7)})
MADE = frames.Succession("i1-1-1", "operator", {C: "dead"}, ("d#1",))
SUCCESSION = Decision(VIEW, (), {C: "dead", "d#1": "silence"}, {A: 5, B: 6}, succession=MADE)
NEWS = Definition.parse("news", "TOTAL", "RELIABLE", static=["a", "b"], safe=True, netsplit="PRIMARY")
ENTRY = GroupInfo(NEWS, "i1", 7, (A, B), ("a:1", "b:2"), True, True, ((C, "c:3"),), True, ("i0", 4), True)
CONTROL: tuple[Control, ...] = (
    frames.Join("c:3", True, (A,)),
    frames.Redirect(A, "a:1"),
    frames.JoinRefused("NameTaken", "no"),
    frames.Prepare(6, (1, 2), True),
    frames.Promise(6, (1, 2), {A: 5}, (1, 1), DECISION, Standing(Keeping.AWAITED, (A, 6), (B,)), 4),
    frames.Nack(6, (3, 0)),
    frames.Cut(6, (1, 2), SUCCESSION, {A: (A, B)}),
    frames.CutOk(6, (1, 2)),
    frames.Install(DECISION, 9, (1, 2)),
    frames.Fetch(6, A, 1, 2, 3),
    frames.StateChunk(6, 1, 2, b"state"),
    frames.StateRefused(6, "no"),
    frames.MergeInto(B, "b:2"),
    frames.Probe(6, (C,)),
    frames.IndirectAck(6, (C,)),
    frames.Reach((A, B), ("a:1", "b:2")),
    frames.DiscoverRequest(6, 1, "c:3"),
    frames.DiscoverReply(6, 2, A, "a:1"),
)
STATUS = Status(
    6,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    True,
    False,
    True,
    "merge",
    (C,),
    8,
    EnvelopeReceipt(9, 10, 11),
    12,
    True,
    {0: 0b110, 1: 0b1},
    0b1011,
)
ENVELOPES = (Envelope(1, Kind.UNICAST, 0, "text"), Envelope(2, Kind.REQUEST, 3, b"bytes"))
FRAGMENTS = (Fragment(A, 6, 3, 4, 50, b"piece"),)
FRAME = Frame(
    "news", "i1", A, B, STATUS, CONTROL, (run(A, 1, 2, 6, {B: 4}),), FRAGMENTS, Orders(6, 2, ((A, 1, 2),)), ENVELOPES
)
REQUESTS: tuple[Request, ...] = (
    Create(NEWS),
    Lookup("news", "i1"),
    ListGroups("a"),
    Claim("news", "i1", 6, A, "a:1", (B, C), ((C, "c:3"),)),
    Register(NEWS, "i1", VIEW, B, True, ((C, "c:3"),)),
    Note("news", "i1", 6, ((C, "c:3"),)),
    Unregister("news", "i1", 6, A, b"proof"),
    Remove("news"),
    Fork("news", "i1"),
    WitnessPrepare("i1", 6, (1, 2), "news", A),
    WitnessAccept("i1", 6, (1, 2), SUCCESSION, "news"),
)
ANSWERS: tuple[Answer, ...] = (
    ENTRY,
    Entries((ENTRY,), True),
    Done(),
    Farewell(Unregister("news", "i1", 6, A, b"proof")),
    Refusal("Stale", "no"),
    WitnessPromised(6, (1, 2), ((C, "c:3"),)),
    WitnessDecided(6, SUCCESSION, (1, 2)),
    WitnessNack(6, (1, 2)),
    WitnessPassed(6),
    WitnessFull(),
)
ASKED: tuple[SequencerRequest, ...] = (Open("g", "i", 1, 2, {A: 3}), Want("g", "i", 1, A, 2, 3, 4), Close("g", "i"))
TOLD: tuple[SequencerAnswer, ...] = (Opened(), Orders(6, 2, ((A, 1, 2),)), Unknown())


def test_the_wire_is_that_of_its_version() -> None:
    said = [codec.encode(FRAME), codec.encode(Refused("unknown", "no", 5, "1-2-3"))]
    said += [directory_codec.encode_request(request) for request in REQUESTS]
    said += [directory_codec.encode_answer(answer) for answer in ANSWERS]
    said += [sequencer_codec.encode_request(request) for request in ASKED]
    said += [sequencer_codec.encode_answer(answer) for answer in TOLD]
    assert {limits.PROTOCOL_VERSION: crc32(b"".join(said))} == SUMS


def test_every_example_arrives_as_it_was_said() -> None:
    assert codec.decode(codec.encode(FRAME)) == FRAME
    for request in REQUESTS:
        assert directory_codec.decode_request(directory_codec.encode_request(request)) == request
    for answer in ANSWERS:
        assert directory_codec.decode_answer(directory_codec.encode_answer(answer)) == answer


@pytest.mark.parametrize(
    ("union", "examples"),
    [(Control, CONTROL), (Request, REQUESTS), (Answer, ANSWERS), (SequencerRequest, ASKED), (SequencerAnswer, TOLD)],
    ids=["control", "requests", "answers", "asked of a sequencer", "told by one"],
)
def test_there_is_an_example_of_everything(union: object, examples: tuple[object, ...]) -> None:
    assert {type(example) for example in examples} == set(get_args(union))


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        (limits.PROTOCOL_VERSION - 1, "other side's GCom is the older"),
        (limits.PROTOCOL_VERSION + 1, "this process's GCom is the older"),
    ],
)
def test_a_mismatch_says_both_numbers_and_what_to_do(theirs: int, words: str) -> None:
    for decode in (codec.decode, directory_codec.decode_answer, sequencer_codec.decode_request):
        with pytest.raises(
            VersionMismatch, match=f"protocol {theirs}, this process {limits.PROTOCOL_VERSION}"
        ) as raised:
            decode(msgpack.packb([theirs, "a shape of another time", 1]))
        assert words in str(raised.value)
        assert "install the same version for both" in str(raised.value)
