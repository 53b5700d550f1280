"""`make demo-hosts`: groups on several hosts of their own, through a bad day; then the audit of all their logs.

It prints what happens, with seconds since the start; the audit's verdict is the last line.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event

from gcom.values.definition import Ordering
from tests.hosts.network import TestHost, made_hosts, why_not
from tests.hosts.stranger import REFUSED
from tests.running import Child, Row

NAMES = ("alice", "bob", "carol")
STRANGER = "mallory"
DOWN_S = 10.0


class Story:
    """The hosts and what runs on them."""

    def __init__(self, hosts: Sequence[TestHost], folder: Path, stack: ExitStack) -> None:
        self._began = time.monotonic()
        self._registry_host, self._second_host, self._strange_host, *rest = hosts
        self._hosts = dict(zip(NAMES, rest, strict=True))
        self._logs = folder / "logs"
        self._stack = stack
        self._members: dict[str, Child] = {}

    def tell(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:6.1f} s  {text}", flush=True)

    # its chapters

    def begin(self) -> None:
        registry = self.start_registry()
        self.tell(f"a registry at {self._registry_host.address} has made an authority: mutual TLS 1.3")
        second = self.start_second()
        both = f"{self._registry_host.address}:7411,{self._second_host.address}:7411"
        for name, host in {**self._hosts, STRANGER: self._strange_host}.items():
            host.variables["GCOM_REGISTRY"] = both
            invitation = _done(self._registry_host.run("gcom_registry", "invite", name)).strip()
            _done(host.run("gcom.cli", "accept", stdin=invitation))
            self.tell(f"{name} at {host.address} has accepted an invitation; the key never left that host")
        self.start_members(*NAMES)
        self.flow(*NAMES)
        self.tell(f"all three talk in five groups: {', '.join(Ordering)}")
        self.lie()
        self.cable_out("bob")
        registry = self.restart(registry)
        self.kill(second)
        self.revoke("carol")
        self.leave_without(registry)
        self.end("alice", "bob")

    def start_members(self, *names: str) -> None:
        """Start members at once: each says when it is in its five groups."""
        for name in names:
            child = self._hosts[name].start("tests.hosts.talker", name, str(self._logs))
            self._members[name] = self._stack.enter_context(child)
        for name in names:
            self._members[name].until(lambda name=name: self._members[name].rows("ready"), "entry into five groups")  # type: ignore[misc]

    def lie(self) -> None:
        """Have a holder of a certificate try to take each group by each request of the directory."""
        told = json.loads(_done(self._strange_host.run("tests.hosts.stranger", STRANGER)))
        for kind, came in told.items():
            # What it registers is answered by what there is; a process outside the view knows of no serial.
            assert came.keys() <= REFUSED | {"Register": {"GroupInfo"}, "Want": {"Unknown"}}.get(kind, set()), told
            words = ", ".join(f"{count} times {said}" for said, count in came.items())
            self.tell(f"{STRANGER}, in no group, asks {kind}: {words}")
        self._lists_all()
        self.flow(*NAMES)
        self.tell("the registries list all members as before, and all three talk on")
        (trail,) = self._registry_host.home.glob("data/gcom/*/trail.jsonl")
        lines = map(json.loads, trail.read_text("utf-8").splitlines())
        refused = {it["request"] for it in lines if it["event"] == "refused" and it.get("by") == f"member/{STRANGER}"}
        # Where several registries are named, the client itself finds that a definition is another.
        assert {kind.lower() for kind in told} - refused <= {"create"}, refused
        self.tell(f"the first registry's trail tells, of {STRANGER}: {', '.join(sorted(refused))}")

    def start_registry(self) -> Child:
        registry = self._registry_host.start("gcom_registry", "--listen", self._registry_host.address)
        self._stack.enter_context(registry)
        registry.until(lambda: registry.out, "ready line")
        return registry

    def start_second(self) -> Child:
        """Start another registry, with a certificate of the first one's authority."""
        folder = self._second_host.home / "tls"
        _done(self._registry_host.run("gcom.cli", "certs", "issue", "second", "--registry", "--out", str(folder)))
        files = ("--cert", "certificate.pem", "--key", "key.pem", "--ca", "authority.pem")
        words = [str(folder / word) if word.endswith(".pem") else word for word in files]
        second = self._second_host.start("gcom_registry", "--listen", self._second_host.address, *words)
        self._stack.enter_context(second)
        second.until(lambda: second.out, "ready line")
        self.tell(f"a second one at {self._second_host.address} has a certificate of that authority")
        return second

    def cable_out(self, name: str) -> None:
        others = [other for other in NAMES if other != name]
        since = len(self._members[name].rows("event"))
        self._hosts[name].link("down")
        self.tell(f"{name}'s link is down")
        began = time.monotonic()
        self._until(name, lambda row: _lost(row), since, "loss of the quorum")
        self.tell(f"{name} hears no quorum: detached, in all five; nothing of it is lost")
        self.flow(*others)
        self.tell(f"{' and '.join(others)} go on without {name}")
        # The story is of a link that is down for so long; nothing is asserted of it.
        Event().wait(max(0.0, began + DOWN_S - time.monotonic()))
        self._hosts[name].link("up")
        self.tell(f"{name}'s link is up again, after {time.monotonic() - began:.0f} s")
        self.flow(*NAMES)
        self.tell("all three talk again, in five groups")

    def restart(self, registry: Child) -> Child:
        registry.signal(signal.SIGKILL)
        registry.end()
        self.tell("the first registry is killed (SIGKILL), while messages flow")
        self.flow(*NAMES)
        self.tell("all three talk on; the total orders have gone to their leaders")
        self._lists_all()
        self.tell("the second registry lists all members")
        again = self.start_registry()
        self.tell("the first runs again, with its data")
        return again

    def kill(self, registry: Child) -> None:
        registry.signal(signal.SIGKILL)
        registry.end()
        self.tell("the second registry is killed, and stays away")
        self.flow(*NAMES)
        self._lists_all()
        self.tell("all three talk on; the first registry lists all members")

    def _lists_all(self) -> None:
        listed = _done(self._hosts["bob"].run("gcom.cli", "members", "talk-total"))
        assert all(name in listed for name in NAMES), listed

    def revoke(self, name: str) -> None:
        others = [other for other in NAMES if other != name]
        _done(self._registry_host.run("gcom.cli", "certs", "revoke", name))
        self.tell(f"{name}'s certificate is revoked")
        for other in others:
            self._members[other].until(lambda other=other: self._views(other, others), "views without it")  # type: ignore[misc]
        self.flow(*others)
        self.tell(f"{name} is out of all five groups; {' and '.join(others)} go on")

    def leave_without(self, registry: Child) -> None:
        """Have all leave while no registry runs, and come back when one does."""
        registry.signal(signal.SIGKILL)
        registry.end()
        self._leave("alice", "bob")
        told = sum(len(row["groups"]) for name in ("alice", "bob") for row in self._members[name].rows("unregistered"))
        assert told == len(Ordering), "each group is left by one as the last, who says that nobody was told"
        self.tell(f"no registry runs, and all leave: the last of each group keeps its word, {told} in all")
        self.start_registry()
        listed = _done(self._hosts["bob"].run("gcom.cli", "groups"))
        assert "talk-total" in listed, listed
        self.tell("the first registry runs again, and still lists all five groups")
        self.start_members("alice", "bob")
        self.flow("alice", "bob")
        self.tell("alice and bob start again, hand in their word, and talk in five new groups")

    def _leave(self, *names: str) -> None:
        for name in names:
            stdin = self._members[name].process.stdin
            assert stdin is not None
            stdin.close()
        for name in names:
            assert self._members[name].end() == 0, f"{name}: {self._members[name].errors[-5:]}"

    def end(self, *names: str) -> None:
        self._leave(*names)
        heard = sum(sum(group["heard"].values()) for name in names for group in self._seen(name).values())
        self.tell(f"all have left; {heard:,} deliveries in all")

    def audit(self) -> int:
        """Judge the logs of all; print the verdict last."""
        done = self._registry_host.run("gcom.cli", "audit", str(self._logs))
        verdict, *rest = done.stdout.splitlines() or ["no verdict"]
        # Where all is well a line a group; its rules, and what is to be looked at, where it is not.
        shown = [line for line in rest if not line.startswith(" ")] if done.returncode == 0 else rest
        print("\n".join([*done.stderr.splitlines(), *shown]))
        print(verdict, flush=True)
        return done.returncode

    # what members see

    def _seen(self, name: str) -> dict[str, Row]:
        rows = self._members[name].rows("seen")
        return dict(rows[-1]["groups"]) if rows else {}

    def _views(self, name: str, wanted: Sequence[str]) -> bool:
        seen = self._seen(name)
        return len(seen) == len(Ordering) and all(sorted(it["members"]) == sorted(wanted) for it in seen.values())

    def flow(self, *names: str) -> None:
        """Wait until these have one view in every group, and each has heard each again."""
        for name in names:
            self._members[name].until(lambda name=name: self._views(name, names), f"views of {names}")  # type: ignore[misc]
        before = {name: self._seen(name) for name in names}
        for name in names:
            what = f"message of each at {name}"
            self._members[name].until(lambda name=name: self._heard_more(name, before[name], names), what)  # type: ignore[misc]

    def _heard_more(self, name: str, before: dict[str, Row], names: Sequence[str]) -> bool:
        now = self._seen(name)
        return all(
            now[group]["heard"].get(sender, 0) > before[group]["heard"].get(sender, 0)
            for group in before
            for sender in names
        )

    def _until(self, name: str, found: Callable[[Row], bool], since: int, what: str) -> None:
        """Wait for an event in every group of a member's."""
        child = self._members[name]
        child.until(
            lambda: len({row["group"] for row in child.rows("event")[since:] if found(row)}) == len(Ordering), what
        )


def _lost(row: Row) -> bool:
    return bool(row["event"] == "QuorumLost")


def _done(done: object) -> str:
    returncode, out, errors = (getattr(done, part) for part in ("returncode", "stdout", "stderr"))
    assert returncode == 0, errors
    return str(out)


def main() -> int:
    """Tell the story, and return the audit's exit status; 0 where no hosts can be made."""
    if reason := why_not():
        print(f"demo-hosts: skipped: {reason}")
        return 0
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        hosts = stack.enter_context(made_hosts(3 + len(NAMES), Path(folder)))
        story = Story(hosts, Path(folder), stack)
        story.begin()
        return story.audit()


if __name__ == "__main__":
    sys.exit(main())
