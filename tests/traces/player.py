"""Plays the commands of a trace on a hand-driven network, and writes what follows below each of them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from difflib import unified_diff
from itertools import count
from pathlib import Path

from gcom.core.messages import events
from gcom.core.messages.effects import Deliver, DeliverUnicast, DoubtSettled, Effect, Serve
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process, name_of
from tests.core.islands import Islands
from tests.core.keepers import Keepers
from tests.core.making import Key, retold
from tests.core.network import Network
from tests.traces.tracer import TOPICS, Tracer, kind_of_item

FOLDER = Path(__file__).parent
FIRST = "#1"
SETTLED_MS = 500  # by then all have told each other of their view


def traces() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def play(script: str) -> str:
    """Return the script with what follows from each command; what stood below the commands does not matter."""
    player, written = Player(), []
    try:
        for line in script.splitlines():
            if not line.startswith(" "):
                written.append(line)
                written += player.do(line) if line and not line.startswith("#") else []
    finally:
        player.end()
    return "\n".join(written) + "\n"


def difference(path: Path) -> tuple[str, str]:
    """Return what comes out of a trace, and how that differs from what stands in its file."""
    before = path.read_text("utf-8")
    after = play(before)
    return after, "".join(unified_diff(before.splitlines(True), after.splitlines(True), path.name, "as played", n=1))


class Player:
    """Has one method for each command, by its name; each word of the line is an argument."""

    def __init__(self) -> None:
        self._limits: dict[str, int] = {}  # those that were changed, as they were
        self._calls = count(1)
        self._unread: dict[Process, list[Deliver]] = {}
        self._commands: dict[str, Callable[..., None]] = {
            name.removeprefix("do_"): getattr(self, name) for name in dir(self) if name.startswith("do_")
        }
        self.do_group()

    def do(self, line: str) -> list[str]:
        """Carry out one command; returns the lines of what followed."""
        command, *words = shlex.split(line)
        self._commands[command](*words)
        return self._tracer.take()

    def end(self) -> None:
        """Put the limits back."""
        for name, value in self._limits.items():
            setattr(limits, name, value)

    # the group, and what is shown of it

    def do_group(self, *options: str) -> None:
        """`ordering=TOTAL safe=yes …`; with `keeps=state` applications keep the texts that they have read, and with
        `back=yes` who loses the group comes again by itself.
        """
        given = dict(option.split("=") for option in options)
        keeps, back = given.pop("keeps", ""), given.pop("back", "")
        safe = bool(given.pop("safe", ""))
        signed = bool(given.pop("signed", ""))
        definition = Definition.parse("news", **given, safe=safe, signed=signed)
        partitionable = definition.netsplit == "PARTITIONABLE"
        kind = (Islands if partitionable else Keepers) if keeps else Network
        self._net = kind(definition)
        if signed:
            self._net.signer = Key
        self._net.returning |= bool(back)
        self._net.pass_ms(limits.START_GRACE_MS)  # until then a registry that has just started grants nothing
        self._tracer = Tracer(self._net)
        self._net.watch = self._on_effect

    def do_limit(self, name: str, value: str) -> None:
        """A limit for this trace, so small that it is reached."""
        self._limits.setdefault(name, getattr(limits, name))
        setattr(limits, name, int(value))

    def do_show(self, *topics: str) -> None:
        assert set(topics) <= set(TOPICS), f"topics are {', '.join(TOPICS)}"
        self._tracer.topics = set(topics)

    # members

    def do_form(self, *names: str) -> None:
        """Let members join one after the other. Only the end of it is shown, and time begins there."""
        founder = self._net.form(*names)[0]
        self._net.pass_ms(SETTLED_MS)
        view = self._net.machines[founder].view
        assert view is not None
        self._tracer.begin(f"view {view.number}: {', '.join(view.names)}")

    def do_start(self, *names: str) -> None:
        """Start processes; who was killed is started as its next incarnation."""
        for name in names:
            process = name + FIRST
            if process in self._net.machines:
                self._net.successors[process] = f"{name}#2"
            self._net.start(*self._who(name).split("#"))

    def do_leave(self, name: str) -> None:
        self._net.leave(self._who(name))

    def do_kill(self, *words: str) -> None:
        """`kill alice bob`, or `kill alice after 1 Cut`: when so many of her frames with one have arrived."""
        match words:
            case (name, "after", reached, kind):
                self._net.kill_after(self._who(name), kind_of_item(kind), int(reached))
            case _:
                for name in words:
                    self._net.kill(self._who(name))

    def do_pause(self, name: str) -> None:
        """Its process stands still; calls to it do not end."""
        self._net.pause(self._who(name))

    def do_resume(self, name: str) -> None:
        self._net.resume(self._who(name))

    # the network

    def do_split(self, *words: str) -> None:
        """`split alice registry / bob carol`."""
        self._net.split(*(" ".join(side.split()) for side in " ".join(words).split("/")))

    def do_cut(self, one: str, two: str) -> None:
        """Neither hears the other; all others hear both."""
        self._net.cuts |= {(one, two), (two, one)}

    def do_heal(self) -> None:
        self._net.heal()

    def do_lose(self, what: str, *names: str) -> None:
        """`lose runs alice carol`: what alice sends of her stream does not reach carol; `lose nothing` from now on."""
        source, *lost = map(self._who, names) if what == "runs" else [""]
        self._net.lose = lambda frame: (
            bool(frame.runs or frame.fragments) and frame.source == source and frame.target in lost
        )

    def do_forge(self, name: str, text: str) -> None:
        """From now on it puts this text into what it passes on of others, under their seals."""
        liar = self._who(name)
        self._net.tamper = lambda frame: frame._replace(
            runs=tuple(retold(run, text) if liar == frame.source != run.sender else run for run in frame.runs)
        )

    def do_registry(self, what: str) -> None:
        """`registry stops`, or `registry starts` again."""
        {"stops": self._net.stop_registry, "starts": self._net.start_registry}[what]()

    # applications

    def do_send(self, name: str, *texts: str) -> None:
        self._net.send(self._who(name), *texts)

    def do_large(self, name: str, size: str) -> None:
        """Send a text of so many characters."""
        self._net.send(self._who(name), "x" * int(size))

    def do_unicast(self, name: str, target: str, *texts: str) -> None:
        for text in texts:
            self._net.handle(self._who(name), events.SendUnicast(self._who(target), text))

    def do_call(self, name: str, text: str, *targets: str) -> None:
        asked = tuple(map(self._who, targets))
        self._net.handle(self._who(name), events.GroupCall(next(self._calls), asked, text))

    def do_slow(self, name: str) -> None:
        """From now on its application reads nothing."""
        self._net.slow.add(self._who(name))

    def do_read(self, name: str) -> None:
        """Its application reads what waits, and goes on reading."""
        who = self._who(name)
        self._net.slow.discard(who)
        for each in self._unread.pop(who, []):
            self._net.later(who, events.Consumed(each.run.sender, each.run.last, len(each.run.encoded)))

    def _on_effect(self, who: Process, effect: Effect) -> None:
        """Show it. An application reads unicasts, and answers requests in capitals."""
        self._tracer.effect(who, effect)
        match effect:
            case Deliver() if who in self._net.slow:
                self._unread.setdefault(who, []).append(effect)
            case DeliverUnicast(sender):
                self._net.later(who, events.UnicastRead(sender))
            case Serve(caller, call, payload):
                self._net.later(who, events.Served(caller, call, payload.upper()))
            case _:
                pass

    # time

    def do_run(self, duration_ms: str) -> None:
        self._net.pass_ms(int(duration_ms.removesuffix("ms")))

    def do_until(self, what: str, *words: str) -> None:
        """`until view NAME …`, `until delivered NAME COUNT`, `until ended NAME`, …"""
        net = self._net
        match what, words:
            case "view", names:
                net.until(lambda: self._together(names), 60_000)
            case "delivered", (name, number):
                net.until(lambda: len(net.delivered(self._who(name))) == int(number))
            case "ended", (name,):
                net.until(lambda: any(net.end(who) for who in net.machines if name_of(who) == name))
            case "dead", (name,):
                net.until(lambda: not net.alive(self._who(name)))
            case "detached", (name,):
                net.until(lambda: net.machines[self._who(name)].detached)
            case "view-number", (name, number):
                net.until(lambda: net.number(self._who(name)) == int(number))
            case "settled", (name,):
                net.until(lambda: bool(net.of(self._who(name), DoubtSettled)))
            case _:
                raise ValueError(f"until {what} {words}")

    def _together(self, names: Iterable[str]) -> bool:
        """Tell whether these, whoever they are by now, and nobody else are in one view of one instance."""
        now = [self._who(name) for name in names]
        instances = {self._net.machines[who].instance for who in now}
        return len(instances) == 1 and all(self._net.members(who) == set(now) for who in now)

    def _who(self, name: str) -> Process:
        return self._net.latest(name + FIRST)
