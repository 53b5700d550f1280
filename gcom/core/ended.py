"""The answer of a node for a process whose stay in a group is over, while another of its name takes part."""

from __future__ import annotations

from dataclasses import replace

from gcom.core.machine import GroupMachine, Stage
from gcom.core.messages.frames import Frame, Join, Refused, Reply
from gcom.values.definition import Netsplit


def answer_for_ended(frame: Frame, reply: Reply, present: GroupMachine | None) -> Reply:
    """Return `reply`; for one that says `ended`, an answer about `present`, the newest machine of that name here."""
    if not isinstance(reply, Refused) or reply.code != "ended" or present is None or not present.returns:
        return reply
    # `returning` tells the others two things: its old session is over for good, and the name is about to be used again.
    if present.stage is Stage.ENTERING:
        return replace(reply, code="returning", reach=present.reach)
    # 1. A and B of a PARTITIONABLE group; A is killed. 2. B goes on in an instance of its own. The registry lists the
    # old one as long as the lease of that runs. 3. Z, which is new, finds both of the old one gone. If it could claim
    # the name then, it would begin beside B, without the state.
    joins = any(isinstance(item, Join) for item in frame.control)
    definition = present.definition
    if joins and present.stage is Stage.MEMBER and definition and definition.netsplit is Netsplit.PARTITIONABLE:
        return replace(reply, code="elsewhere")
    return reply
