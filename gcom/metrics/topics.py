"""The figures of a store of topics: what it keeps, how far its subscriptions are, and what this process did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from time import time

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from gcom.errors import GComError
from gcom.metrics.server import MetricsServer, Probes
from gcom.topics import SubscriptionInfo, TopicInfo, TopicStore
from gcom.topics.storage.commits import Commits, CommitTimes

TopicFamily = GaugeMetricFamily | CounterMetricFamily | HistogramMetricFamily

# Of one topic: name, meaning, and what is read of it.
TOPIC_GAUGES: tuple[tuple[str, str, Callable[[TopicInfo], float]], ...] = (
    ("messages", "Messages that are kept", lambda it: it.count),
    ("bytes", "Bytes of the bodies that are kept", lambda it: it.bytes),
    ("next_offset", "Offset of the next message: so many were stored in all", lambda it: it.next),
)
# Of one subscription.
SUBSCRIPTION_GAUGES: tuple[tuple[str, str, Callable[[SubscriptionInfo], float]], ...] = (
    ("lag_messages", "Messages that are not done", lambda it: it.lag),
    ("handed_messages", "Messages that are handed out and not acknowledged", lambda it: it.in_flight),
    (
        "oldest_seconds",
        "Age of the oldest message that is not done; 0 if all are",
        lambda it: 0.0 if it.waiting_since_ms is None else max(0.0, time() - it.waiting_since_ms / 1000),
    ),
)


class TopicsCollector(Collector):
    """The figures of an open store, for any Prometheus registry; asked for when it is scraped."""

    def __init__(self, store: TopicStore) -> None:
        self._store = store

    def describe(self) -> Iterable[TopicFamily]:
        """Return no metric, so that nothing is asked before somebody scrapes."""
        return ()

    def collect(self) -> Iterator[TopicFamily]:
        try:
            infos = self._store.topics()
            waiting = {it.name: self._store.existing(it.name).subscriptions() for it in infos}
        except GComError:  # a scrape while the database is down, or a topic goes
            yield GaugeMetricFamily("gcom_topics_up", "1 if the store answers", value=0)
            return
        yield GaugeMetricFamily("gcom_topics_up", "1 if the store answers", value=1)
        for name, meaning, read in TOPIC_GAUGES:
            gauge = GaugeMetricFamily(f"gcom_topic_{name}", meaning, labels=("topic",))
            for info in infos:
                gauge.add_metric((info.name,), float(read(info)))
            yield gauge
        for name, meaning, look in SUBSCRIPTION_GAUGES:
            gauge = GaugeMetricFamily(f"gcom_topic_subscription_{name}", meaning, labels=("topic", "subscription"))
            for topic, subscriptions in waiting.items():
                for it in subscriptions:
                    gauge.add_metric((topic, it.name), float(look(it)))
            yield gauge
        if isinstance(self._store.access, Commits):
            yield from _of_process(self._store.access)


def _of_process(commits: Commits) -> Iterator[TopicFamily]:
    duplicates = CounterMetricFamily(
        "gcom_topic_duplicates", "Messages that were sent to this process again", labels=("topic",)
    )
    for topic, count in sorted(commits.duplicates.copy().items()):
        duplicates.add_metric((topic,), count)
    yield duplicates
    names = [*(str(it) for it in CommitTimes.BOUNDS_S), "+Inf"]
    counts = [float(it) for it in accumulate(commits.times.counts)]
    yield HistogramMetricFamily(
        "gcom_topics_commit_seconds",
        "Time of a commit in this process, its fsync included",
        buckets=list(zip(names, counts, strict=True)),
        sum_value=commits.times.sum_s,
    )


def serve_topics(store: TopicStore, where: str = "0") -> MetricsServer:
    """Serve the figures of a store at PORT on 127.0.0.1, or at HOST:PORT, until closed.

    Raises BadValue, Unavailable.
    """

    def unready() -> str:
        try:
            store.topics()
        except GComError as error:
            return str(error)
        return ""

    return MetricsServer(where, [TopicsCollector(store)], Probes(unready, unready))
