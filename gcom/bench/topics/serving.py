"""Batches through a server, beside the same batches into a file, in turns."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from gcom import topics
from gcom.bench.frame import in_turns, median_ratio, rate
from gcom.errors import Unavailable

TURNS = 4
END_S = 30.0


def served_ratio(folder: Path, body: bytes, batches: int, size: int) -> float:
    """Return the rate of a producer at a server, as a share of its rate in this process."""
    with _server(folder / "served.db") as place, topics.open(place) as there, topics.open(folder / "here.db") as here:
        sides = {side: it.topic("batches").producer("one") for side, it in (("here", here), ("served", there))}
        for producer in sides.values():
            producer.send(body)
        each = max(1, batches // TURNS)
        rates = in_turns(
            TURNS,
            {side: partial(rate, each, partial(producer.send_many, [body] * size)) for side, producer in sides.items()},
        )
    return median_ratio(rates["served"], rates["here"])


@contextmanager
def _server(path: Path) -> Iterator[str]:
    """Yield the address of a server in a process of its own."""
    words = [sys.executable, "-m", "gcom.cli", "topics", "serve", "--store", str(path), "--listen", "127.0.0.1:0"]
    with subprocess.Popen([*words, "--json"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise Unavailable("the server of topics ended by itself: its words are above")
            yield f"gcom://{json.loads(line)['address']}"
        finally:
            process.terminate()
            process.wait(END_S)
