"""Frames that a session's machine gave away, and the answers that a link reads for them."""

from __future__ import annotations

from typing import NamedTuple

from gcom.core.machine import GroupMachine
from gcom.core.messages.frames import Frame, Refused
from gcom.errors import VersionMismatch
from gcom.runtime.session import Session
from gcom.values.names import Process


class TakenFrame(NamedTuple):
    """A frame that a session's machine gave away; its end must be told."""

    session: Session
    peer: Process
    frame: Frame
    taken_s: float
    unawaited: bool  # nobody waits for the answer to it


def is_unawaited(machine: GroupMachine, frame: Frame) -> bool:
    """Return whether nobody waits for the answer to a frame: it has data alone, and nothing waits behind that."""
    if not frame.runs or frame.control or frame.envelopes or frame.fragments or frame.orders or machine.unsent_count:
        return False
    return not machine.answers_decide


def refused(peer: Process, error: VersionMismatch) -> Refused:
    """Return an answer, a refusal most likely, that is not for this version to read."""
    return Refused("version", f"{peer}: {error}")
