"""Other replicated logs under the same load: PySyncObj in three processes of Python, and three servers of etcd."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import monotonic
from typing import NamedTuple

from gcom.bench.frame import rate, times_ms
from gcom.bench.processes.children import START_S, Children
from gcom.errors import ExtraMissing, Unavailable

CLIENTS = 64
SIZE = 100


class BaselineFigures(NamedTuple):
    """The time of a single command, and the rate of many under way; that of GCom is to be `times` as high."""

    single_ms: float
    many_per_s: float
    times: float
    durable: bool


def refuse_etcd() -> None:
    """Raise ExtraMissing where etcd is not installed."""
    if shutil.which("etcd") is None:
        raise ExtraMissing("etcd is not installed: apt install etcd-server, or put the command etcd on the PATH")


def measured_etcd(_children: Children, folder: Path, commands: int) -> BaselineFigures:
    with _etcd_servers(folder) as ports:
        _await_etcd(ports[0])
        with ExitStack() as stack, ThreadPoolExecutor(CLIENTS) as pool:
            clients = [stack.enter_context(closing(_EtcdClient(ports[0]))) for _ in range(CLIENTS)]
            single_ms = median(times_ms(max(20, commands // 10), clients[0].put))
            each = max(1, commands // CLIENTS)
            put_all = partial(pool.map, lambda it: [it.put() for _ in range(each)], clients)
            return BaselineFigures(single_ms, rate(1, lambda: list(put_all()), each * CLIENTS), 1, durable=True)


@contextmanager
def _etcd_servers(folder: Path) -> Iterator[list[int]]:
    """Run three servers on loopback, with their data in the folder; yield their ports for clients."""
    ports = _free_ports(6)
    mine, peers = ports[:3], ports[3:]
    cluster = ",".join(f"e{place}=http://127.0.0.1:{port}" for place, port in enumerate(peers))
    with ExitStack() as stack:
        for place in range(3):
            client, peer = f"http://127.0.0.1:{mine[place]}", f"http://127.0.0.1:{peers[place]}"
            words = {
                "name": f"e{place}", "data-dir": str(folder / f"e{place}"), "initial-cluster": cluster,
                "listen-client-urls": client, "advertise-client-urls": client,
                "listen-peer-urls": peer, "initial-advertise-peer-urls": peer,
            }  # fmt: skip
            command = ["etcd", *(f"--{word}={value}" for word, value in words.items())]
            server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(server.wait)
            stack.callback(server.kill)
        yield mine


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [it.getsockname()[1] for it in sockets]


def _await_etcd(port: int) -> None:
    deadline = monotonic() + START_S
    while True:
        try:
            with closing(_EtcdClient(port)) as client:
                client.put()
                return
        except (OSError, http.client.HTTPException, Unavailable) as error:
            if monotonic() > deadline:
                raise Unavailable(f"etcd is not ready after {START_S:g} s: {error}") from error


class _EtcdClient:
    """A connection to etcd's JSON interface, kept open."""

    _BODY = json.dumps({"key": b64encode(b"key").decode(), "value": b64encode(bytes(SIZE)).decode()})

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_S)

    def put(self) -> None:
        """Put a value."""
        self._connection.request("POST", "/v3/kv/put", self._BODY)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise Unavailable(f"etcd answered {answer.status}: {text!r:.100}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def measured_pysyncobj(children: Children, _folder: Path, commands: int) -> BaselineFigures:
    addresses = [f"127.0.0.1:{port}" for port in _free_ports(3)]
    names = [f"raft{place}" for place in range(3)]
    for name, own in zip(names, addresses, strict=True):
        others = [it for it in addresses if it != own]
        children.run(name, "gcom.bench.throughput.pysyncobj:MeasuredLog", own=own, others=others, under_way=CLIENTS)
    children.gather("ready", names, START_S * 2)
    found = children.ask(names[:1], "measure", START_S * 2, commands=commands, size=SIZE)[names[0]]
    for name in names:
        children.kill_one(name)
    return BaselineFigures(found["single_ms"], found["many_per_s"], 15, durable=False)


BASELINES = {"pysyncobj": measured_pysyncobj, "etcd": measured_etcd}
