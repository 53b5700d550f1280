"""Batches through a server, beside the same batches into a file, in turns."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from gcom import topics
from gcom.bench.frame import in_turns, median_ratio, rate
from gcom.bench.processes.children import START_S, Children

TURNS = 4


def served_ratio(folder: Path, body: bytes, batches: int, size: int) -> float:
    """Return the rate of a producer at a server, as a share of its rate in this process."""
    words = "--store", str(folder / "served.db"), "--listen", "127.0.0.1:0", "--json"
    with Children() as children:
        children.start("server", "gcom.cli", "topics", "serve", *words)
        line = children.gather("line", ["server"], START_S)["server"]["text"]
        place = f"gcom://{json.loads(line)['address']}"
        with topics.open(place) as there, topics.open(folder / "here.db") as here:
            producers = {side: it.topic("batches").producer("one") for side, it in (("here", here), ("served", there))}
            for producer in producers.values():
                producer.send(body)
            send = {side: partial(it.send_many, [body] * size) for side, it in producers.items()}
            rates = in_turns(TURNS, {side: partial(rate, max(1, batches // TURNS), it) for side, it in send.items()})
        children.kill_one("server")
    return median_ratio(rates["served"], rates["here"])
