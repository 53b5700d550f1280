"""The commands that put a process into a group: join, tail, send."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import gcom
from gcom.cli.commands.session import Feed, ShellMember
from gcom.cli.lines import as_message
from gcom.cli.output import Output, notice
from gcom.cli.rows import JsonRows, PlainRows, RowFormat

FLUSH_S = 10.0  # as `flush` itself waits by default


@dataclass(frozen=True, slots=True)
class MemberOptions:
    """The member's place and name, and the form of its output."""

    group: str
    name: str
    registry: str | None
    log_dir: Path | None
    as_json: bool
    linger_s: float | None
    metrics: str | None

    def rows(self, output: Output) -> RowFormat:
        return JsonRows(output, self.group) if self.as_json else PlainRows(output, self.group)


def join(session: MemberOptions, create: gcom.Definition | None, wait: int) -> int:
    """Send standard input and print deliveries; return the exit status."""
    with _joined(session, create) as group:
        output = Output()
        rows = session.rows(output)
        return ShellMember(
            group, rows, output, Feed(group, wait, stays=session.linger_s is None), session.linger_s
        ).run()


def tail(session: MemberOptions) -> int:
    """Print deliveries; return the exit status."""
    with _joined(session, None) as group:
        output = Output()
        return ShellMember(group, session.rows(output), output, None, session.linger_s).run()


def send(group: str, name: str, registry: str | None, log_dir: Path | None, payload: bytes) -> None:
    """Send one message, as text if it is UTF-8."""
    # It reads nothing: what others send meanwhile would wait for nobody.
    with gcom.connect(name, registry, log_dir=log_dir) as node, node.join(group, receive=False) as joined:
        joined.send(as_message(payload))
        # Before it leaves: `leave` would only warn of a message that did not arrive, and the exit status be 0.
        joined.flush(FLUSH_S)
        # Before the end of the block: after leaving there is no view to count.
        count = len(joined.members)
    notice(f"sent to {count} member{'' if count == 1 else 's'} of group {group!r}")


@contextmanager
def _joined(session: MemberOptions, create: gcom.Definition | None) -> Iterator[gcom.Group]:
    # They end in the opposite order: first the figures, while the group is whole, and the node last.
    with (
        gcom.connect(session.name, session.registry, log_dir=session.log_dir) as node,
        node.join(session.group, create=create) as group,
        _metrics(node, group, session.metrics),
    ):
        yield group
    # Known only now: the node waits for the registry's answer until it is closed.
    for left in node.unregistered:
        notice(
            f"no registry has heard that group {left!r} is over, and the next one to run will list it still: "
            f"{node.name} tells it when it starts again on this machine, or gcom fork {left} gives the group up"
        )


def _metrics(node: gcom.Node, group: gcom.Group, where: str | None) -> AbstractContextManager[object]:
    """Serve the node's figures, if it is wanted."""
    if where is None:
        return nullcontext()
    from gcom import metrics  # nobody else needs its library

    serving = metrics.serve(node, [group], where)
    notice(f"metrics at {serving.url}")
    return serving
