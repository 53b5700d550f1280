"""Detection is a part of the definition: what may be said, how it travels, and that every member obeys it."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.codec.registry import decode_request, encode_request
from gcom.core.detector.suspicion import Detector
from gcom.core.messages.registry import Create
from gcom.errors import BadValue, MalformedFrame
from gcom.values import limits
from gcom.values.definition import Definition, TieBreaker
from gcom.values.detection import LAN, WAN, Detection
from tests.core.making import A, B, C, view
from tests.core.network import Network

WORDS = [
    ("lan", limits.SILENCE_MAX_MS),
    ("WAN", 3 * limits.SILENCE_MAX_MS),
    (4, 4_000),
    ("7.5", 7_500),
    (2, 2_000),
    (120.0, 120_000),
]


@pytest.mark.parametrize(("word", "silence_ms"), WORDS)
def test_a_word_or_seconds_say_the_longest_silence(word: str | float, silence_ms: int) -> None:
    assert Detection.parse(word).silence_max_ms == silence_ms


@pytest.mark.parametrize("word", ["", "man", "1.9", 121, True, None, "nan", float("inf"), b"4", [4]])
def test_anything_else_is_refused_in_words(word: object) -> None:
    with pytest.raises(BadValue, match="is not one of lan, wan, nor 2 to 120 seconds"):
        Detection.parse(word)


@given(st.integers(2_000, 120_000))
def test_its_text_is_read_as_what_it_was(silence_ms: int) -> None:
    made = Detection(silence_ms)
    assert Detection.parse(str(made)) == made
    definition = Definition("g", detection=made)
    assert decode_request(encode_request(Create(definition))) == Create(definition)


def test_in_a_local_network_every_time_is_what_limits_say() -> None:
    assert LAN.scaled_ms(limits.DETACH_MS) == limits.DETACH_MS
    assert WAN.scaled_ms(limits.DETACH_MS) == 3 * limits.DETACH_MS
    assert Detection.parse(2).extended_ms(limits.STALL_MS) == limits.STALL_MS


def test_the_default_is_not_said_so_that_older_rows_and_requests_read_as_ever() -> None:
    said = msgpack.unpackb(encode_request(Create(Definition("g"))))
    assert len(said[2]) == 7
    assert decode_request(msgpack.packb(said)) == Create(Definition("g", detection="lan"))


@pytest.mark.parametrize("word", ["lan", "4", "12", "7.50", "WAN", 7, None, "x"])
def test_a_definition_has_one_form_on_the_wire(word: object) -> None:
    said = msgpack.unpackb(encode_request(Create(Definition("g"))))
    said[2].append(word)
    with pytest.raises(MalformedFrame):
        decode_request(msgpack.packb(said))


def test_two_definitions_differ_by_it_and_say_so() -> None:
    assert Definition("g", detection="wan") != Definition("g")
    assert Definition("g", detection="wan").differences(Definition("g")) == "detection is wan, not lan"


def silent_for_ms(detection: Detection) -> int:
    """How long after its last word B is suspected by A, which has nobody else to ask."""
    watching = Detector(A, TieBreaker.LEADER, detection)
    watching.install(view(A, B), 0)
    for now_ms in range(0, 130_000, 100):
        if now_ms <= 1_000:
            watching.heard(B, now_ms, ())
        if watching.tick(now_ms)[0]:
            return now_ms - 1_000
    raise AssertionError("B is never suspected")


@pytest.mark.parametrize("word", ["2", "lan", "7", "wan", "120"])
def test_a_silent_member_is_suspected_within_the_definitions_bounds(word: str) -> None:
    detection = Detection.parse(word)
    least_ms = detection.scaled_ms(limits.SILENCE_MIN_MS)
    assert least_ms <= silent_for_ms(detection) <= detection.silence_max_ms + 100


@pytest.mark.parametrize(("word", "stays"), [("lan", False), ("wan", True)])
def test_a_member_is_put_out_when_all_members_definition_says_so(word: str, stays: bool) -> None:
    net = Network(Definition("g", "TOTAL", detection=word))
    net.form("a", "b", "c")
    net.pause(C)
    net.pass_ms(6_000)  # more than 4 s, less than 12 s
    assert [C in net.members(who) for who in (A, B)] == [stays, stays]
    net.pass_ms(9_000)
    assert C not in net.members(A)


@pytest.mark.parametrize(("word", "detached"), [("lan", True), ("wan", False)])
def test_a_member_without_a_quorum_is_detached_when_the_definition_says_so(word: str, detached: bool) -> None:
    net = Network(Definition("g", detection=word))
    net.form("a", "b", "c")
    net.cut_off = {C}
    net.pass_ms(5_000)
    assert net.machines[C].detached is detached
    net.pass_ms(10_000)
    assert net.machines[C].detached
