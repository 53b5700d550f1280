"""`python -m tests.hosts.stranger NAME`: a holder of a certificate, in no group, that lies to the registries.

It asks for each group what the directory can be asked, so that the name would be its own, and prints one line of JSON:
how often each request was put, and what came of it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import closing

import gcom
from gcom.core.messages.registry import (
    Claim,
    Fork,
    GroupInfo,
    Note,
    Refusal,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.core.messages.witness import WitnessPrepare
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.security.process import credentials_for, registry_addresses
from gcom.values import lineage
from gcom.values.view import View

ROUNDS = 20
ADDRESS = "127.0.0.1:9"


def lies(entry: GroupInfo, me: str) -> list[Request]:
    """Return requests that would take or end a group, each true in form."""
    group, instance, definition = entry.definition.group, entry.instance, entry.definition
    ahead = entry.view + 5
    mine = View(ahead, (me,), (ADDRESS,))
    with_them = View(ahead, (me, *entry.members), (ADDRESS,) * (1 + len(entry.members)))
    later = lineage.successor(instance, "deadbeef")
    return [
        Register(definition, instance, mine, me),
        Register(definition, instance, with_them, me),
        Register(definition, "0000000000deadbee", mine, me),
        Register(definition, later, with_them, me),
        Claim(group, instance, entry.view, me, ADDRESS, entry.members),
        Note(group, instance, entry.view, ((me, ADDRESS),)),
        Fork(group, instance),
        WitnessPrepare(instance, entry.view, (9, 0), group, me),
        Unregister(group, instance, ahead, me),
        Unregister(group, later, ahead, me),
        Remove(group),
    ]


def main(name: str) -> None:
    addresses = registry_addresses(None, name)
    me = f"{name}#deadbeef"
    came: dict[str, Counter[str]] = {}
    with closing(DirectoryClient(",".join(addresses), credentials=credentials_for(addresses[0], name))) as directory:
        for _ in range(ROUNDS):
            for entry in directory.groups():
                for request in lies(entry, me):
                    try:
                        answer = directory.ask(request)
                        said = answer.code if isinstance(answer, Refusal) else type(answer).__name__
                    except gcom.GComError as error:
                        said = type(error).__name__
                    came.setdefault(type(request).__name__, Counter())[said] += 1
    print(json.dumps({kind: dict(said) for kind, said in sorted(came.items())}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
