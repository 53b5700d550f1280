"""The figures of a registry for Prometheus (docs/operating.md lists them)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from gcom.metrics.server import MetricsServer, Probes
from gcom_registry.requests import BOUNDS_S, RequestCounts
from gcom_registry.status import RegistryStatus

_Family = GaugeMetricFamily | CounterMetricFamily | HistogramMetricFamily
_Reader = Callable[[RegistryStatus], float]

GAUGES: tuple[tuple[str, str, _Reader], ...] = (
    ("start_time_seconds", "When it started, in seconds since 1970", lambda it: it.started_s),
    ("ready", "1 if newcomers may be sent to it", lambda it: not it.unready),
    ("grace_seconds", "Time for which it gives no name away yet", lambda it: it.grace_s),
    ("members", "Members of all groups' views", lambda it: it.members),
    ("connections", "Connections that are open", lambda it: it.connections),
    ("connections_max", "Connections at which the longest idle one gives way", lambda it: it.connections_max),
    ("sequenced_groups", "Groups of which it gives the serials", lambda it: it.sequenced),
)


class RegistryCollector(Collector):
    """The figures, looked up when somebody scrapes."""

    def __init__(self, look: Callable[[], RegistryStatus]) -> None:
        self._look = look

    def describe(self) -> Iterable[_Family]:
        """Return no metric, so that nothing is asked before somebody scrapes."""
        return ()

    def collect(self) -> Iterator[_Family]:
        # One look for all of them, so that the figures of a scrape are of one moment.
        seen = self._look()
        info = GaugeMetricFamily("gcom_registry_info", "The registry; always 1", labels=("address", "version"))
        info.add_metric((seen.address, seen.version), 1)
        yield info
        for name, meaning, read in GAUGES:
            yield GaugeMetricFamily(f"gcom_registry_{name}", meaning, value=float(read(seen)))
        groups = GaugeMetricFamily("gcom_registry_groups", "Groups in the directory", labels=("state",))
        for state, count in seen.groups.items():
            groups.add_metric((state,), count)
        yield groups
        refused = CounterMetricFamily(
            "gcom_registry_refused", "Refusals of what came from the network", labels=("reason",)
        )
        for reason, count in sorted(seen.refused.items()):
            refused.add_metric((reason,), count)
        yield refused
        yield from _of_requests(seen.requests)


def _of_requests(counts: RequestCounts) -> Iterator[_Family]:
    outcomes = CounterMetricFamily("gcom_registry_requests", "Requests answered", labels=("request", "outcome"))
    for (kind, outcome), count in sorted(counts.outcomes.items()):
        outcomes.add_metric((kind, outcome), count)
    yield outcomes
    times = HistogramMetricFamily(
        "gcom_registry_request_seconds", "Time that requests took, the disk included", labels=("request",)
    )
    bounds = [*map(str, BOUNDS_S), "+Inf"]
    # Sorted, so that two scrapes can be laid side by side: a dictionary has the order of the first requests.
    for kind, found in sorted(counts.times.items()):
        # Summed up here, where somebody scrapes: Prometheus wants each bucket to have all below it.
        buckets = list(zip(bounds, map(float, accumulate(found)), strict=True))
        times.add_metric((kind,), buckets, counts.total_s[kind])
    yield times


def serve_metrics(where: str, look: Callable[[], RegistryStatus]) -> MetricsServer:
    """Serve a registry's figures and probes at PORT on 127.0.0.1, or at HOST:PORT; raises BadValue, Unavailable."""
    return MetricsServer(
        where, [RegistryCollector(look)], Probes(lambda: look().ill, lambda: look().unready, lambda: look().stuck)
    )
