"""`/livez`, `/healthz`, `/readyz` and `/metrics` over plain HTTP, on loopback unless it is told otherwise.

One request per connection, each in a thread of its own. Of more than CONNECTIONS_MAX connections the oldest is ended,
so that clients who say nothing keep nobody out.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from loguru import logger
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from gcom.errors import BadValue, Unavailable
from gcom.runtime import pyro
from gcom.runtime.pyro.wire import shut
from gcom.runtime.user_process.closable import Closable

CONNECTIONS_MAX = 16  # a few scrapers and probes; a thread each
SILENT_S = 10.0  # a client that says nothing for so long is gone
PATHS = ("/livez", "/healthz", "/readyz", "/metrics")
TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Probes:
    """Questions to a service. Each answer says in words why not, and is empty if all is well.

    ill: is something wrong with it? unready: should nobody new be sent to it now? stuck: should it be started again?
    """

    ill: Callable[[], str]
    unready: Callable[[], str]
    stuck: Callable[[], str] = str  # nothing that a start would mend is known


class MetricsServer(Closable):
    """The server at PORT on 127.0.0.1, or at HOST:PORT, until it is closed. Port 0 takes any free one.

    Raises BadValue for a place that is none, Unavailable for one that is taken.
    """

    def __init__(self, where: str, collectors: Iterable[Collector], probes: Probes) -> None:
        registry = CollectorRegistry()
        # Without None it enters the library's global registry, which has one already, and refuses the second.
        for collector in (ProcessCollector(registry=None), *collectors):
            registry.register(collector)
        host, port = _place(where)
        try:
            self._http = _Http(host, port, _Answers(registry, probes))
        except OSError as error:
            raise Unavailable(
                f"no metrics at {where}: {error.strerror}; stop what listens there, or choose another port"
            ) from error
        found = self._http.server_address
        self.address = f"[{found[0]!s}]:{found[1]}" if ":" in str(found[0]) else f"{found[0]!s}:{found[1]}"
        self._thread = Thread(target=self._http.serve_forever, name="gcom metrics", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address that a scraper is given."""
        return f"http://{self.address}/metrics"

    def close(self) -> None:
        """Stop at once; may be called again."""
        # The socket last: until `shutdown` returns, `serve_forever` still waits on it.
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def _place(where: str) -> tuple[str, int]:
    """Return host and port of PORT or HOST:PORT; raises BadValue."""
    if where.isascii() and where.isdigit():
        where = f"127.0.0.1:{where}"
    found = pyro.place(where, port=-1)
    # A range is for members, whose port the registry tells to others; a scraper is configured with one.
    if len(found.ports) != 1 or found.ports[0] < 0:
        raise BadValue(f"metrics {where!r} is not PORT or HOST:PORT: 9100 serves them on 127.0.0.1")
    if found.ports[0] > 65535:
        raise BadValue(f"port {found.ports[0]} of metrics is not 0 to 65535")
    return ("127.0.0.1" if found.host == "localhost" else found.host), found.ports[0]


@dataclass(frozen=True, slots=True)
class _Answers:
    registry: CollectorRegistry
    probes: Probes

    def of(self, path: str, accepts: str) -> tuple[int, str, bytes]:
        """Return status, content type and body."""
        # The client says which form it reads: a newer Prometheus asks for OpenMetrics, an old one for text.
        if path == "/metrics":
            encode, kind = choose_encoder(accepts)
            return 200, kind, encode(self.registry)
        if path not in PATHS:
            return 404, TEXT, f"there is no {path!r} here, only {', '.join(PATHS)}\n".encode()
        probe = {"/livez": self.probes.stuck, "/healthz": self.probes.ill, "/readyz": self.probes.unready}[path]
        why = probe()
        return (503, TEXT, f"no: {why}\n".encode()) if why else (200, TEXT, b"ok\n")


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    # An end waits for no client, which may be silent for SILENT_S.
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, host: str, port: int, answers: _Answers) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.answers = answers
        self._open: dict[Any, None] = {}  # connections, the oldest first
        self._lock = Lock()
        super().__init__((host, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            if len(self._open) >= CONNECTIONS_MAX:
                # Refused instead, a client that opens them and says nothing would keep the scraper out.
                oldest = next(iter(self._open))
                del self._open[oldest]
                shut(oldest)
            self._open[request] = None
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if not isinstance(error, OSError):  # else the client went away
            logger.opt(exception=error).error("a figure could not be given out")


class _Handler(BaseHTTPRequestHandler):
    # Of each read, not of the request: a client that trickles is ended by CONNECTIONS_MAX, when others come.
    timeout = SILENT_S
    server: _Http

    def do_GET(self) -> None:
        status, kind, body = self.server.answers.of(self.path.partition("?")[0], self.headers.get("Accept", ""))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    # Some probes ask so: the status is all that they want.
    do_HEAD = do_GET

    def version_string(self) -> str:
        # In place of Python's version, which tells whoever asks what there is to attack.
        return "gcom"

    def log_message(self, format: str, *args: Any) -> None:
        pass  # a scrape every few seconds is no news
