"""A space-time diagram (Lamport 1978) of the records around a violation: a line per process, time to the right.

Columns stand for order only: a record is right of its predecessor in its process, and a delivery is right of its send.
Where a log contradicts that, the record stays in its process's order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gcom.audit.explain.evidence import Evidence
from gcom.audit.explain.lookup import LogEvent

LANE = 66
_TOP, _MARGIN = 34, 8
_LETTER = 5.9  # pixels


@dataclass(slots=True)
class DiagramNode:
    """A record. `color` is the sender's lane, -1 for a sender without one. `hot` marks the messages that the incident
    names, and `first` the violation itself.
    """

    kind: str
    x: float
    y: float
    label: str
    title: str
    color: int
    hot: bool
    first: bool


@dataclass(slots=True)
class Arrow:
    x1: float
    y1: float
    x2: float
    y2: float
    color: int
    hot: bool


@dataclass(slots=True)
class Diagram:
    width: float
    height: float
    step: float  # from one column to the next
    lanes: list[tuple[str, float]]
    nodes: list[DiagramNode] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)


def diagram_of(evidence: Evidence) -> Diagram | None:
    """Return the diagram; None if nothing of the surroundings was found."""
    lanes = [(process, events) for process, events in evidence.events.items() if events]
    if not lanes:
        return None
    events = [(lane, event) for lane, (_, each) in enumerate(lanes) for event in each]
    sends = _sends([event for _, event in events])
    columns = _columns([lane for lane, _ in events], sends)
    # As wide as the longest label needs, so that none covers the next.
    longest = _LETTER * max(len(_label(event)) for _, event in events)
    step = max(22.0, longest + 9)
    # Room for half a label at either end: labels are centred on their records.
    left = right = longest / 2 + _MARGIN
    colors = {process: lane for lane, (process, _) in enumerate(lanes)}
    found = Diagram(
        left + step * max(columns) + right,
        _TOP + LANE * len(lanes) - 34,
        step,
        [(process, _TOP + LANE * lane) for lane, (process, _) in enumerate(lanes)],
    )
    for (lane, event), column in zip(events, columns, strict=True):
        found.nodes.append(_node(evidence, event, left + step * column, _TOP + LANE * lane, colors))
    for index, send in enumerate(sends):
        # An own delivery has no arrow: it would lie on its process's line.
        if send is not None and events[send][0] != events[index][0]:
            one, other = found.nodes[send], found.nodes[index]
            found.arrows.append(Arrow(one.x, one.y, other.x, other.y, one.color, one.hot and other.hot))
    # What concerns the violation is drawn last, on top.
    found.arrows.sort(key=lambda arrow: arrow.hot)
    return found


def _sends(events: list[LogEvent]) -> list[int | None]:
    """Return, per delivery, the place of its send, if that is there too."""
    sends = [(place, event) for place, event in enumerate(events) if event.kind == "send"]
    return [
        next((place for place, send in sends if event.kind == "deliver" and send.has(event.sender, event.number)), None)
        for event in events
    ]


def _columns(lanes: list[int], sends: list[int | None]) -> list[int]:
    """Return the column of each record: one more than the highest of the records that it follows."""
    columns = [-1] * len(lanes)
    queues = [[place for place, each in enumerate(lanes) if each == lane] for lane in range(max(lanes) + 1)]
    last = [-1] * len(queues)
    # It ends: each round takes the first record of one queue or more.
    while any(queues):
        # Row by row, as in shiviz.py: a delivery waits for its send, and where a log has them the other way
        # round one goes on.
        ready = [queue for queue in queues if queue and ((send := sends[queue[0]]) is None or columns[send] >= 0)]
        for queue in ready or [next(queue for queue in queues if queue)]:
            place = queue.pop(0)
            send = sends[place]
            last[lanes[place]] += 1
            if send is not None and columns[send] >= 0:
                # An arrow never points left: the delivery stands at least one column behind its send.
                last[lanes[place]] = max(last[lanes[place]], columns[send] + 1)
            columns[place] = last[lanes[place]]
    return columns


def _node(evidence: Evidence, event: LogEvent, x: float, y: float, colors: dict[str, int]) -> DiagramNode:
    incident = evidence.incident
    # The first position of a process counts where it has several.
    at = dict(reversed(incident.positions)).get(event.process, -1)
    here = event.at <= at < event.at + event.count
    hot = here or any(event.has(*message) for message in incident.messages)
    return DiagramNode(event.kind, x, y, _label(event), _title(event), colors.get(event.sender, -1), hot, here)


def _label(event: LogEvent) -> str:
    if event.kind in ("send", "deliver", "skip") and event.number > 0:
        return str(event.number) if event.count == 1 else f"{event.number}–{event.number + event.count - 1}"
    return f"view {event.view}" if event.kind == "view" else event.kind


def _title(event: LogEvent) -> str:
    what = {"send": "sent", "deliver": "delivered", "skip": "skipped", "view": "installed"}.get(event.kind, event.kind)
    of = f" of {event.sender}" if event.kind in ("deliver", "skip") and event.sender else ""
    serial = f", serial {event.serial}" if event.serial > 0 else ""
    inside = f", in view {event.view}" if event.kind != "view" else ""
    return f"{event.process} {what} {_label(event)}{of}{serial}{inside} · position {event.at} · line {event.line}"
