"""Figures for Prometheus: of a node, a registry and a store of topics, and the HTTP server that gives them out.

    import gcom
    from gcom import metrics

    with gcom.connect("alice") as node, node.join("news") as news, metrics.serve(node, [news], "9101"):
        ...

All is asked when somebody scrapes, by `Group.snapshot`: while nobody does, a message costs as much as before
(docs/operating.md lists each figure).
"""

from __future__ import annotations

from gcom.metrics.node import NodeCollector, node_probes, serve
from gcom.metrics.server import MetricsServer, Probes

__all__ = ["MetricsServer", "NodeCollector", "Probes", "node_probes", "serve"]
