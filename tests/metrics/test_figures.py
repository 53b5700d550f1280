"""The figures of a node and a registry over HTTP, and the list of them in docs/operating.md."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path

import pytest
from gcom_registry.operation.metrics import serve_metrics
from gcom_registry.server import RegistryServer
from prometheus_client.parser import text_string_to_metric_families

import gcom
from gcom import metrics
from gcom.errors import BadValue, Unavailable
from gcom.metrics.server import CONNECTIONS_MAX, MetricsServer, Probes
from gcom.runtime import pyro
from gcom.values import names
from tests.running import LIMIT_S

ROOT = Path(__file__).parents[2]
WELL = Probes(lambda: "", lambda: "")
Found = dict[tuple[str, frozenset[tuple[str, str]]], float]


def get(address: str, path: str, method: str = "GET") -> tuple[int, str]:
    with closing(HTTPConnection(address, timeout=LIMIT_S)) as http:
        http.request(method, path)
        answer = http.getresponse()
        return answer.status, answer.read().decode()


def kinds(address: str) -> dict[str, str]:
    """The metrics of ours by name, with their types."""
    found = text_string_to_metric_families(get(address, "/metrics")[1])
    totals = {family.name: f"{family.name}_total" if family.type == "counter" else family.name for family in found}
    found = text_string_to_metric_families(get(address, "/metrics")[1])
    return {totals[family.name]: family.type for family in found if family.name.startswith("gcom_")}


def values(address: str) -> Found:
    families = text_string_to_metric_families(get(address, "/metrics")[1])
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def of(found: Found, name: str, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with closing(RegistryServer()) as server:
        server.start()
        yield server


def listed() -> dict[str, str]:
    """The metrics that the documentation lists, with their types."""
    rows = re.findall(
        r"^\| `(gcom_\w+)` \| (\w+) \| .+ \|$", (ROOT / "docs" / "operating.md").read_text(), re.MULTILINE
    )
    assert len(rows) == len(dict(rows))
    return dict(rows)


def test_the_documentation_lists_each_with_its_type(registry: RegistryServer) -> None:
    with (
        gcom.connect("alice", registry.address) as node,
        node.join("news", create=gcom.Definition("news", "TOTAL")) as group,
        metrics.serve(node, [group]) as of_node,
        serve_metrics("0", registry.look) as of_registry,
    ):
        assert kinds(of_node.address) | kinds(of_registry.address) == listed()


def test_a_node_tells_what_its_snapshot_says(registry: RegistryServer) -> None:
    with (
        gcom.connect("alice", registry.address) as node,
        node.join("news", create=gcom.Definition("news", "TOTAL")) as group,
        metrics.serve(node, [group]) as serving,
    ):
        group.send("one", held_by="all")
        group.send("two", held_by="all")
        found, sender = values(serving.address), group.process
        assert of(found, "gcom_group_delivered_messages_total", group="news", sender=sender) == 2
        assert of(found, "gcom_group_serial_delivered", group="news") == 2
        assert (of(found, "gcom_group_leads", group="news"), of(found, "gcom_group_view", group="news")) == (1, 1)
        assert of(found, "gcom_group_sequencer_at_registry", group="news") == 1
        assert of(found, "process_resident_memory_bytes") > 0
        assert get(serving.address, "/readyz") == (200, "ok\n")


def test_a_registry_counts_what_it_was_asked(registry: RegistryServer) -> None:
    with serve_metrics("0", registry.look) as serving, closing(gcom.Directory(registry.address)) as client:
        client.create(gcom.Definition("news"))
        with pytest.raises(gcom.UnknownGroup):
            client.lookup("olds")
        found = values(serving.address)
        assert of(found, "gcom_registry_groups", state="empty") == 1
        assert of(found, "gcom_registry_requests_total", request="Create", outcome="ok") == 1
        assert of(found, "gcom_registry_requests_total", request="Lookup", outcome="UnknownGroup") == 1
        assert of(found, "gcom_registry_request_seconds_count", request="Lookup") == 1
        assert of(found, "gcom_registry_request_seconds_bucket", request="Lookup", le="+Inf") == 1
        assert of(found, "gcom_registry_connections") == 1


def test_a_registry_that_starts_is_not_ready_and_says_for_how_long(tmp_path: Path) -> None:
    with closing(RegistryServer(data=tmp_path)) as first:
        first.start()
        with closing(gcom.Directory(first.address)) as client:
            client.create(gcom.Definition("news"))
    with closing(RegistryServer(data=tmp_path)) as again, serve_metrics("0", again.look) as serving:
        again.start()
        status, text = get(serving.address, "/readyz")
        assert (status, text[:23]) == (503, "no: starting: it gives ")
        assert get(serving.address, "/healthz") == (200, "ok\n")


def test_a_registry_that_ends_answers_first_and_is_not_ready() -> None:
    asked, leave = threading.Event(), threading.Event()

    def slow(data: bytes) -> bytes:
        asked.set()
        leave.wait(LIMIT_S)
        return data

    answers: list[bytes] = []
    server = RegistryServer(enrol=slow)
    server.start()
    with serve_metrics("0", server.look) as serving, closing(pyro.Caller(server.address, pyro.ENROLMENT)) as caller:
        calling = threading.Thread(target=lambda: answers.append(caller.call(b"hi", LIMIT_S)))
        calling.start()
        assert asked.wait(LIMIT_S)
        ending = threading.Thread(target=server.close, args=(LIMIT_S,))
        ending.start()
        while get(serving.address, "/readyz")[0] == 200:
            pass
        assert get(serving.address, "/readyz") == (503, "no: it is ending\n")
        assert answers == []
        leave.set()
        ending.join(LIMIT_S)
        calling.join(LIMIT_S)
    assert answers == [b"hi"]


def test_what_is_not_there_is_said() -> None:
    with MetricsServer("0", (), Probes(lambda: "the clock stands", lambda: "")) as serving:
        assert get(serving.address, "/other") == (
            404,
            "there is no '/other' here, only /livez, /healthz, /readyz, /metrics\n",
        )
        assert get(serving.address, "/healthz?x=1") == (503, "no: the clock stands\n")
        assert get(serving.address, "/readyz", "HEAD") == (200, "")
        assert get(serving.address, "/readyz", "POST")[0] == 501


@pytest.mark.slow
def test_clients_who_say_nothing_keep_nobody_out() -> None:
    with MetricsServer("0", (), WELL) as serving, ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(names.split_address(serving.address), LIMIT_S))]
        silent += [
            stack.enter_context(socket.create_connection(names.split_address(serving.address), LIMIT_S))
            for _ in range(CONNECTIONS_MAX)
        ]
        assert silent[0].recv(1) == b""  # the oldest gave way
        assert get(serving.address, "/healthz") == (200, "ok\n")


@pytest.mark.parametrize(
    ("where", "said"), [("x", "PORT"), ("", "names no host"), ("70000", "0 to 65535"), ("127.0.0.1:1-2", "PORT")]
)
def test_a_place_that_is_none_is_refused(where: str, said: str) -> None:
    with pytest.raises(BadValue, match=said):
        MetricsServer(where, (), WELL)


def test_a_place_that_is_taken_is_named() -> None:
    with MetricsServer("127.0.0.1:0", (), WELL) as serving, pytest.raises(Unavailable, match="choose another port"):
        MetricsServer(serving.address, (), WELL)


def test_nothing_is_asked_while_nobody_scrapes(registry: RegistryServer) -> None:
    looks: list[int] = []

    def look() -> object:
        looks.append(1)
        return registry.look()

    with serve_metrics("0", look) as serving:  # type: ignore[arg-type]
        assert looks == []
        get(serving.address, "/metrics")
        assert looks == [1]
