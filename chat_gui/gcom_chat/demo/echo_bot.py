"""A bot in ten lines; `python -m gcom_chat.demo.echo_bot GROUP [HOST:PORT]` answers to its name (docs/chat.md)."""

from __future__ import annotations

import json
import sys
from contextlib import suppress

import gcom

if __name__ == "__main__":
    with gcom.connect("echo", *sys.argv[2:3]) as node, node.join(sys.argv[1]) as group:
        for message in group:
            # Anything else that a member sends is none of its business: a text of `gcom join`, or JSON of another kind.
            with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                said = json.loads(message.payload)["text"]
                if message.name != "echo" and said.startswith("echo:"):
                    answer = {"gcom-chat": 1, "kind": "text", "text": f"{message.name}: {said[5:].strip()}"}
                    group.send(json.dumps(answer))
