"""`make demo-hosts`: groups on several hosts of their own, through a bad day; then the audit of all their logs.

It prints what happens, with seconds since the start; the audit's verdict is the last line.
"""

from __future__ import annotations

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
from tests.running import Child, Row

NAMES = ("alice", "bob", "carol")
DOWN_S = 10.0


class Story:
    """The hosts and what runs on them."""

    def __init__(self, hosts: Sequence[TestHost], folder: Path, stack: ExitStack) -> None:
        self._began = time.monotonic()
        self._registry_host, self._second_host, *rest = hosts
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
        for name, host in self._hosts.items():
            host.variables["GCOM_REGISTRY"] = both
            invitation = _done(self._registry_host.run("registry", "invite", name)).strip()
            _done(host.run("gcom.cli", "accept", stdin=invitation))
            self.tell(f"{name} at {host.address} has accepted an invitation; the key never left that host")
        for name, host in self._hosts.items():
            child = self._stack.enter_context(host.start("tests.hosts.talker", name, str(self._logs)))
            self._members[name] = child
            child.until(lambda child=child: child.rows("ready"), "entry into five groups")  # type: ignore[misc]
        self.flow(*NAMES)
        self.tell(f"all three talk in five groups: {', '.join(Ordering)}")
        self.cable_out("bob")
        self.restart(registry)
        self.kill(second)
        self.revoke("carol")
        self.end()

    def start_registry(self) -> Child:
        registry = self._registry_host.start("registry", "--listen", self._registry_host.address)
        self._stack.enter_context(registry)
        registry.until(lambda: registry.out, "ready line")
        return registry

    def start_second(self) -> Child:
        """Start another registry, with a certificate of the first one's authority."""
        folder = self._second_host.home / "tls"
        _done(self._registry_host.run("gcom.cli", "certs", "issue", "second", "--registry", "--out", str(folder)))
        files = ("--cert", "certificate.pem", "--key", "key.pem", "--ca", "authority.pem")
        words = [str(folder / word) if word.endswith(".pem") else word for word in files]
        second = self._second_host.start("registry", "--listen", self._second_host.address, *words)
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

    def restart(self, registry: Child) -> None:
        registry.signal(signal.SIGKILL)
        registry.end()
        self.tell("the first registry is killed (SIGKILL), while messages flow")
        self.flow(*NAMES)
        self.tell("all three talk on; the total orders have gone to their leaders")
        self._lists_all()
        self.tell("the second registry lists all members")
        self.start_registry()
        self.tell("the first runs again, with its data")

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

    def end(self) -> None:
        for child in self._members.values():
            assert child.process.stdin is not None
            child.process.stdin.close()
        for name, child in self._members.items():
            assert child.end() == 0, f"{name}: {child.errors[-5:]}"
        heard = sum(sum(group["heard"].values()) for name in NAMES for group in self._seen(name).values())
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
        hosts = stack.enter_context(made_hosts(2 + len(NAMES), Path(folder)))
        story = Story(hosts, Path(folder), stack)
        story.begin()
        return story.audit()


if __name__ == "__main__":
    sys.exit(main())
