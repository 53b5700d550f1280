"""The figures of one node and the groups that it is in, out of the public snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

import gcom
from gcom.metrics.server import MetricsServer, Probes
from gcom.values import limits
from gcom.values.snapshot import SequencerInfo, Snapshot

_Reader = Callable[[Snapshot], float]
Family = GaugeMetricFamily | CounterMetricFamily

# Of one group: name, meaning, and what is read of its snapshot.
GAUGES: tuple[tuple[str, str, _Reader], ...] = (
    ("view", "Number of the view in force", lambda it: it.view.number),
    ("members", "Members of the view", lambda it: len(it.view.members)),
    ("leads", "1 if this process leads the group", lambda it: it.view.leader == it.process),
    ("detached", "1 while no quorum of the view is heard", lambda it: it.detached),
    ("send_waits", "1 while a send would wait", lambda it: bool(it.waits_for)),
    ("suspected", "Members that are suspected", lambda it: len(it.suspected)),
    (
        "held_back_messages",
        "Messages that are here and not yet delivered; beyond 1,000 runs at least so many",
        lambda it: sum(run.last - run.first + 1 for run in it.held_back) + it.held_back_rest,
    ),
    (
        "held_back_seconds",
        "Age of the oldest of them",
        lambda it: max((run.since_s for run in it.held_back), default=0),
    ),
    ("unstable_messages", "Own messages that not all members hold yet", lambda it: it.window.unstable),
    ("unread_messages", "Own messages that not all applications have read yet", lambda it: it.window.unread),
    ("window_messages", "Unread own messages at which a send waits", lambda it: it.window.size),
    ("unsent_messages", "Messages that send has taken and that are not sent yet", lambda it: it.window.unnumbered),
)
# The same, of groups in a total order.
ORDER_GAUGES: tuple[tuple[str, str, Callable[[SequencerInfo], float]], ...] = (
    ("serial_ordered", "Last serial of which the message is known here", lambda it: it.ordered),
    ("serial_agreed", "Last serial that a majority holds", lambda it: it.agreed),
    ("serial_delivered", "Last serial delivered here", lambda it: it.delivered),
    ("sequencer_doubted", "1 while the sequencer does not answer", lambda it: it.doubted),
    ("sequencer_at_registry", "1 if the registry gives serials, 0 if a member does", lambda it: it.where == "registry"),
)
# Of each member, as this process sees it.
MEMBER_GAUGES: tuple[tuple[str, str, Callable[[Snapshot], Mapping[str, float]]], ...] = (
    ("silence_seconds", "Time since the member was heard last", lambda it: it.heard_s),
    ("round_trip_seconds", "Smoothed time of a call to the member and back", lambda it: it.round_trip_s),
    ("unread_by_messages", "Own messages that the member has not read yet", lambda it: it.window.unread_by),
)


class NodeCollector(Collector):
    """The figures of a node and some of its groups, for any Prometheus registry; asked for when it is scraped."""

    def __init__(self, node: gcom.Node, groups: Iterable[gcom.Group]) -> None:
        self._node = node
        self._groups = tuple(groups)

    def describe(self) -> Iterable[Family]:
        """Return no metric, so that nothing is asked before somebody scrapes."""
        return ()

    def collect(self) -> Iterator[Family]:
        node = self._node
        info = GaugeMetricFamily("gcom_node_info", "The node; always 1", labels=("name", "version", "protocol"))
        info.add_metric((node.name, gcom.__version__, str(limits.PROTOCOL_VERSION)), 1)
        yield info
        refused = CounterMetricFamily("gcom_node_refused", "Refusals of what came from the network", labels=("reason",))
        for reason, count in sorted(node.refused.items()):
            refused.add_metric((reason,), count)
        yield refused
        # All snapshots first, so that the figures of one scrape are of about one moment.
        yield from _of_groups([group.snapshot() for group in self._groups])


def _of_groups(seen: Sequence[Snapshot]) -> Iterator[Family]:
    info = GaugeMetricFamily(
        "gcom_group_info",
        "The group as this process is in it; always 1",
        labels=("group", "process", "group_instance", "ordering", "multicast"),
    )
    for it in seen:
        ordering, multicast = str(it.definition.ordering), str(it.definition.multicast)
        info.add_metric((it.group, it.process, it.instance, ordering, multicast), 1)
    yield info
    # All groups within one family: Prometheus' format has each family once, and a second one of its name is an error.
    for name, meaning, read in GAUGES:
        gauge = GaugeMetricFamily(f"gcom_group_{name}", meaning, labels=("group",))
        for it in seen:
            gauge.add_metric((it.group,), float(read(it)))
        yield gauge
    for name, meaning, look in ORDER_GAUGES:
        gauge = GaugeMetricFamily(f"gcom_group_{name}", meaning, labels=("group",))
        for it in seen:
            # No sample and not 0: a group without a total order has no serial, and an alert must not take it for stuck.
            if it.sequencer is not None:
                gauge.add_metric((it.group,), float(look(it.sequencer)))
        yield gauge
    yield from _by_member(seen)


def _by_member(seen: Sequence[Snapshot]) -> Iterator[Family]:
    delivered = CounterMetricFamily(
        "gcom_group_delivered_messages",
        "Messages of a sender that were delivered here, in this instance of the group",
        labels=("group", "sender"),
    )
    for it in seen:
        for sender, number in it.clocks.get(it.process, {}).items():
            delivered.add_metric((it.group, sender), number)
    yield delivered
    for name, meaning, read in MEMBER_GAUGES:
        gauge = GaugeMetricFamily(f"gcom_group_{name}", meaning, labels=("group", "member"))
        for it in seen:
            for member, value in read(it).items():
                gauge.add_metric((it.group, member), value)
        yield gauge


def node_probes(groups: Iterable[gcom.Group]) -> Probes:
    """Return the probes of a node: it is ready while it hears a quorum of each of its groups."""
    found = tuple(groups)

    def unready() -> str:
        return "; ".join(f"group {it.name!r} hears no quorum" for it in found if it.snapshot().detached)

    # Never ill: a node that hears no quorum goes on when others are heard again, and a restart brings none of them.
    return Probes(lambda: "", unready)


def serve(node: gcom.Node, groups: Iterable[gcom.Group], where: str = "0") -> MetricsServer:
    """Serve the figures of a node at PORT on 127.0.0.1, or at HOST:PORT, until closed.

    Raises BadValue, Unavailable.
    """
    found = tuple(groups)
    return MetricsServer(where, [NodeCollector(node, found)], node_probes(found))
