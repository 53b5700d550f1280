"""`python -m tests.hosts.stranger NAME`: a holder of a certificate, in no group, that lies to the registries.

It asks for each group what the directory and the sequencer can be asked, so that the name would be its own. It prints
one line of JSON: how often each request was put, and what came of it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace

import gcom
from gcom.core.codec.sequencer import decode_answer, encode_request
from gcom.core.messages.frames import Decision
from gcom.core.messages.registry import (
    Answer,
    Claim,
    Create,
    Fork,
    GroupInfo,
    Note,
    Refusal,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.core.messages.sequencer import Close, Open, SequencerAnswer, SequencerRequest, Want
from gcom.core.messages.witness import WitnessAccept, WitnessPrepare
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.security.process import credentials_for, registry_addresses
from gcom.values import lineage
from gcom.values.detection import Detection
from gcom.values.view import View

ROUNDS = 20
ADDRESS = "127.0.0.1:9"
WAIT_S = 10.0
REFUSED = {"Stale", "NotPermitted", "GroupExists", "NotInvited"}


def lies(entry: GroupInfo, me: str) -> list[Request]:
    """Return requests that would take or end a group, each true in form."""
    group, instance, definition = entry.definition.group, entry.instance, entry.definition
    ahead = entry.view + 5
    mine, after = (View(number, (me,), (ADDRESS,)) for number in (ahead, entry.view + 1))
    with_them = View(ahead, (me, *entry.members), (ADDRESS,) * (1 + len(entry.members)))
    later = lineage.successor(instance, "deadbeef")
    return [
        Create(replace(definition, detection=Detection.parse(77.0))),
        Register(definition, instance, mine, me),
        Register(definition, instance, with_them, me),
        Register(definition, instance, mine, me, detached=True),
        Register(definition, instance, View(ahead, entry.members[:1], (ADDRESS,)), entry.members[0]),
        Register(definition, "0000000000deadbee", mine, me),
        Register(definition, later, with_them, me),
        Claim(group, instance, entry.view, me, ADDRESS, entry.members),
        Note(group, instance, entry.view, ((me, ADDRESS),)),
        Fork(group, instance),
        WitnessPrepare(instance, entry.view, (9, 0)),
        WitnessPrepare(instance, entry.view, (9, 0), group, me),
        WitnessAccept(instance, entry.view, (9, 0), Decision(after, (me,), {}, {}), group),
        Unregister(group, instance, ahead, me),
        Unregister(group, later, ahead, me),
        Unregister(group, instance, entry.view, entry.members[0], b"forged"),
        Remove(group),
    ]


def serial_lies(entry: GroupInfo, me: str) -> list[SequencerRequest]:
    """Return requests that would spoil the order of a group, or read it."""
    group, instance = entry.definition.group, entry.instance
    return [
        Open(group, instance, entry.view + 5, 1000, {}),
        Want(group, instance, entry.view, me, 5, 0, 1 << 40),
        Want(group, instance, entry.view, entry.members[0], 1 << 40, 0, 0),
        Close(group, instance),
    ]


def outcome(answer: Answer | SequencerAnswer) -> str:
    return answer.code if isinstance(answer, Refusal) else type(answer).__name__


def main(name: str) -> None:
    addresses = registry_addresses(None, name)
    credentials = credentials_for(addresses[0], name)
    me = f"{name}#deadbeef"
    came: dict[str, Counter[str]] = {}
    with (
        closing(DirectoryClient(",".join(addresses), credentials=credentials)) as directory,
        closing(pyro.Caller(addresses[0], pyro.SEQUENCER, credentials)) as sequencer,
    ):

        def put(request: Request | SequencerRequest) -> str:
            if not isinstance(request, Open | Want | Close):
                return outcome(directory.ask(request))
            return outcome(decode_answer(sequencer.call(encode_request(request), WAIT_S)))

        for _ in range(ROUNDS):
            for entry in directory.groups():
                for request in (*lies(entry, me), *serial_lies(entry, me)):
                    try:
                        said = put(request)
                    except gcom.GComError as error:
                        said = "NotPermitted" if "NotPermitted" in str(error) else type(error).__name__
                    came.setdefault(type(request).__name__, Counter())[said] += 1
    print(json.dumps({kind: dict(said) for kind, said in sorted(came.items())}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
