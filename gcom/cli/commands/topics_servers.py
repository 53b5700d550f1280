"""`gcom topics serve`, `proxy` and `gateway`: programs that serve topics until Ctrl-C."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from gcom.cli import extras, options
from gcom.cli.output import Output, notice
from gcom.cli.signals import Interrupted

SIGTERM_STATUS = 143

ListenAt = Annotated[str, typer.Option("--listen", metavar="HOST:PORT", help="Where clients reach it.")]
ServerName = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Its name among the servers of a cluster.")
]
ClusterName = Annotated[str, typer.Option("--cluster", metavar="NAME", help="The name that all its servers give.")]


def serve(
    store: Annotated[
        str, typer.Option("--store", metavar="PLACE", help="A file, or postgresql://…", envvar="GCOM_STORE")
    ],
    listen: ListenAt = "127.0.0.1:4711",
    name: ServerName = None,
    cluster: ClusterName = "main",
    registry: options.Registry = None,
    metrics: options.Metrics = None,
    as_json: options.Json = False,
) -> None:
    """Serve the topics of a store to clients, until Ctrl-C: topics.open("gcom://HOST:PORT").

    With --name it is one of several servers, which share the topics: each topic has one owner, and any server may be
    asked. Servers of one PostgreSQL database take over from each other. Clients of this user reach a server on this
    machine. From other machines they need certificates (gcom accept), and name it: gcom://NAME@HOST:PORT.

    \b
    Examples:
      gcom topics serve --store app.db
      gcom topics serve --store postgresql://gcom@db/app --name a --registry 127.0.0.1:7411 --listen 127.0.0.1:4711
      gcom topics serve --store app.db --metrics 9102
    """
    from gcom.topics.served.serving import TopicsCluster, TopicsServer

    among = TopicsCluster(name, registry, cluster) if name is not None else None
    with TopicsServer(store, listen, among) as server, ExitStack() as beside:
        if metrics is not None and server.store is not None:
            from gcom.metrics.topics import serve_topics

            notice(f"figures at {beside.enter_context(serve_topics(server.store, metrics)).url}")
        _serving(f"serving {store}", server.address, as_json)


def proxy(
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Its name in the cluster.")],
    listen: ListenAt = "127.0.0.1:4711",
    cluster: ClusterName = "main",
    registry: options.Registry = None,
    as_json: options.Json = False,
) -> None:
    """Be a proxy of the servers of a cluster, until Ctrl-C: it brings each call to the owner of its topic.

    Proxies come and go as they like: they keep nothing.

    \b
    Example:
      gcom topics proxy --name p --registry 127.0.0.1:7411 --listen 127.0.0.1:4712
    """
    from gcom.topics.served.serving import TopicsCluster, TopicsServer

    with TopicsServer(None, listen, TopicsCluster(name, registry, cluster)) as server:
        _serving(f"a proxy of cluster {cluster}", server.address, as_json)


def gateway(
    store: Annotated[
        str, typer.Option("--store", metavar="PLACE", help="A file, postgresql://…, or gcom://…", envvar="GCOM_STORE")
    ],
    listen: Annotated[
        str | None, typer.Option("--listen", metavar="HOST:PORT", help="Where TCP clients reach it.")
    ] = None,
    zmq: Annotated[str | None, typer.Option("--zmq", metavar="HOST:PORT", help="Where ZeroMQ clients do.")] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Its id in answers.")] = "gcom",
    take: Annotated[
        list[str] | None,
        typer.Option("--take", metavar="HOST:PORT", help="A server of protocol Z to take topics from; repeatable."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Serve topics to programs that speak protocol Z, until Ctrl-C: SUBSCRIBE, UNSUBSCRIBE, GET, PUT.

    By TCP a connection has one message, and ends where the client closes its half. By ZeroMQ REQ sockets ask it
    (pip install 'gcom[zmq]'). It listens on this machine alone. For other machines run one on each, with a store at
    gcom://HOST:PORT. With --take it takes over the topics of a server of that protocol, which has it as a proxy.

    \b
    Examples:
      gcom topics gateway --store app.db --listen 127.0.0.1:4720
      gcom topics gateway --store gcom://127.0.0.1:4711 --zmq 127.0.0.1:5001 --take 127.0.0.1:5002
    """
    if zmq is not None:
        extras.need("zmq", "zmq")
    from gcom.topics.gateway.serving import GatewayPlaces, GatewayServer

    with GatewayServer(store, GatewayPlaces(listen, zmq), name, take or []) as server:
        places = [f"tcp://{server.tcp}"] * bool(server.tcp) + [f"zmq tcp://{server.zmq}"] * bool(server.zmq)
        more = {"tcp": server.tcp, "zmq": server.zmq}
        _until_ended(f"a gateway to {store} at {' and '.join(places)}", {"what": "gateway", **more}, as_json)


def _serving(what: str, address: str, as_json: bool) -> None:
    _until_ended(f"{what} at gcom://{address}", {"what": what, "address": address}, as_json)


def _until_ended(text: str, row: dict[str, object], as_json: bool) -> None:
    """Say where a server is, and wait for the signal that ends it."""
    from threading import Event

    output = Output()
    if as_json:
        output.row({"type": "serving", **row})
    else:
        output.text(text)
    output.flush()
    try:
        Event().wait()
    except Interrupted as ended:
        if ended.status != SIGTERM_STATUS:  # as a service is stopped
            raise
