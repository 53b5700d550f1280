"""`Node`: a process that takes part in groups, as applications hold it. It runs on a `Host`."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Literal

from gcom.certificates.identity_files import CertificateFiles
from gcom.core.messages.registry import GroupInfo as GroupInfo
from gcom.errors import BadValue, Detached, Exhausted, LocalError, NotAMember
from gcom.runtime.api.group import Group
from gcom.runtime.api.guards import seconds_of
from gcom.runtime.faults import Faults
from gcom.runtime.host import Host
from gcom.runtime.logs import Logging
from gcom.runtime.membership import Membership, Uses
from gcom.runtime.registry.directory_client import DirectoryClient as Directory
from gcom.runtime.security.process import Listening
from gcom.runtime.user_process.closable import Closable
from gcom.runtime.user_process.entry import application_call, called_outside, entering, uninterrupted
from gcom.runtime.waiting import run
from gcom.values import names
from gcom.values.definition import Definition, Multicast, Netsplit, Ordering, TieBreaker
from gcom.values.detection import Detection

JOIN_TRIES = 3  # of one call of `join`: each as another process


class Node(Closable):
    """A named process. Made by `gcom.connect`; use it in a `with` block, or close it.

    Safe to use from any number of threads.
    """

    def __init__(
        self,
        name: str,
        registry: str | None = None,
        *,
        log_dir: str | Path | None = None,
        log_digests: bool = False,
        timeout_s: float = 10.0,
        faults: str | Faults | None = None,
        listen: str | None = None,
        advertise: str | None = None,
        certificates: CertificateFiles | None = None,
    ) -> None:
        self._timeout_s = seconds_of(timeout_s)
        self._unheld: deque[Group] = deque()  # groups that were entered for a thread which was interrupted
        with entering():
            try:
                logging = Logging(log_dir, log_digests)
                self._host = Host(name, registry, logging, faults, Listening(listen, advertise, certificates))
            # Neither names the caller's mistake: a process has so many descriptors and threads, and no more.
            except (OSError, RuntimeError) as error:
                raise Exhausted(
                    f"no node can be made in this process: {error}; close what it does not need (ulimit -n, "
                    "ulimit -u), or try again later"
                ) from error

    # properties

    @property
    def name(self) -> str:
        """The name of this process in every group."""
        return self._host.name

    @property
    def address(self) -> str:
        """The address for other nodes: `host:port`, and `@host.life` behind it where the system can name a life."""
        return self._host.address

    @property
    def timeout_s(self) -> float:
        """The seconds that a join waits when it is not told."""
        return self._timeout_s

    @property
    def directory(self) -> Directory:
        """The client of the registry's directory (`gcom.Directory`)."""
        return self._host.directory

    @property
    @application_call()
    def refused(self) -> Counter[str]:
        """Counts of what was refused from the network, by reason."""
        return self._host.refused

    @property
    def unregistered(self) -> tuple[str, ...]:
        """Groups that this node, now closed, left as the last member, of which it could tell no registry.

        Until a registry hears of it, nobody can join them. The next node of this user tells it; or `gcom fork`.
        """
        return self._host.unregistered

    # groups

    def create(
        self,
        group: str,
        # Spelt out beside the enums, so that `help` and an editor show the words; a test holds both to each other.
        ordering: Ordering | Literal["NONORDERED", "FIFO", "CAUSAL", "TOTAL", "CAUSALTOTAL"] = "FIFO",
        multicast: Multicast | Literal["BASIC", "RELIABLE"] = "RELIABLE",
        static: tuple[str, ...] = (),
        safe: bool = False,
        netsplit: Netsplit | Literal["PRIMARY", "PARTITIONABLE"] = "PRIMARY",
        tie_breaker: TieBreaker | Literal["LEADER", "REGISTRY"] = "LEADER",
        detection: Detection | Literal["lan", "wan"] | float | str = "lan",
        signed: bool = False,
    ) -> GroupInfo:
        """Make an empty group; it is kept until it is removed or its last member leaves.

        An equal definition that is there already is no error. `signed` needs certificates: each message then has its
        sender's signature. Raises BadValue, GroupExists, RegistryUnavailable.
        """
        if self._host.closed:
            raise NotAMember(f"the node {self.name!r} is closed")
        words = (group, ordering, multicast, static, safe, netsplit, tie_breaker, detection)
        definition = Definition.parse(*words, signed=signed)
        return self.directory.create(definition)

    def groups(self) -> tuple[GroupInfo, ...]:
        """Return the groups that the registry knows, sorted by name."""
        return self.directory.groups()

    def info(self, group: str) -> GroupInfo:
        """Return the registry's entry of a group; raises UnknownGroup."""
        return self.directory.lookup(group)

    def remove(self, group: str) -> None:
        """Forget an empty group; raises UnknownGroup, GroupInUse."""
        self.directory.remove(group)

    @application_call(kept_in="_unheld", then="_leave_unheld")
    def join(
        self,
        group: str,
        *,
        create: Definition | None = None,
        receive: bool = True,
        rejoin: bool = True,
        get_state: Callable[[], bytes] | None = None,
        set_state: Callable[[bytes], object] | None = None,
        merge_states: Callable[[bytes, bytes], bytes] | None = None,
        on_call: Callable[[bytes | str, str], bytes | str] | None = None,
        allow_empty: bool = False,
        timeout_s: float | None = None,
    ) -> Group:
        """Become a member; with `create`, make the group first if it is not there.

        `receive=False`: deliveries are dropped, for a process that only sends. `rejoin=False`: a process that is put
        out of its group, or loses contact to a quorum, stays out; else it comes back by itself, as another process.
        `set_state(data)` is called before the first event, with what a member's `get_state()` returned: the state that
        came of all messages before, which replaces what the application has. Both are called by the thread that
        receives, `get_state` when somebody joins. A state that none can give is a StateLost event. Where nothing reads
        that event, this process leaves with StateFailed, unless `allow_empty` lets it go on without.
        `merge_states(mine, theirs)`, in a PARTITIONABLE group, returns one state for two: when instances have met, all
        members call it at one place of their histories, with `theirs` of a member that came from the other instance.
        It must be a function of the two, the same at all members, and may be given what `mine` has already.
        `on_call(payload, caller)` answers group calls from the first one on (`Group.on_call`).
        One that was admitted, and put out before it heard of it, tries again, three times in all, and then raises
        Detached.
        Raises BadValue, UnknownGroup, GroupExists, NameTaken, NotInvited, VersionMismatch, RegistryUnavailable,
        Detached, GComTimeout.
        """
        group = checked_group(group, create)
        called_outside(self._leave_unheld)()
        uses = Uses(receive, rejoin, get_state, set_state, merge_states, on_call, allow_empty)
        with self._host.lock:
            timeout_s = seconds_of(self._timeout_s if timeout_s is None else timeout_s)
            return Group(self._host, run(enter(self._host, group, uses, create, timeout_s)))

    def _leave_unheld(self) -> None:
        """Leave the groups that nobody will hold: the call that entered them was interrupted."""
        while self._unheld:
            self._unheld[0].leave()
            self._unheld.popleft()

    # tests, the end

    @property
    def faults(self) -> Faults:
        """The faults that the calls of this node have now; none if nobody asked for any."""
        return self._host.faults

    @application_call()
    def inject(self, faults: str | Faults) -> None:
        """Have faults in the calls of this node from now on, in place of those before (docs/TESTING.md).

            node.inject(gcom.Faults(seed=7, drop=0.1, cuts=frozenset({("alice", "bob")})))
            node.inject("seed=7,drop=0.1,delay[alice>carol]=pareto:20ms,cut=alice>bob")
            node.inject("")

        For tests and demonstrations on one machine; a node notices only its own calls, so give all nodes the same.
        Raises BadValue for faults that say nothing sensible, and where node or registry is not on loopback.
        """
        self._host.inject(faults)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Of a fork's child: there is nothing to close, and what ends its block is told as it is.
        if not self._host.forked:
            self.close()

    @application_call()
    def close(self, timeout_s: float = 5.0) -> None:
        """Leave every group, as far as `timeout_s` seconds allow, and stop. May be called again. Raises BadValue."""
        self._host.close(seconds_of(timeout_s))

    def __repr__(self) -> str:
        return f"<gcom.Node {self.name!r} at {names.place_of(self.address)}, registry {self.directory.address}>"


def checked_group(group: str, create: Definition | None) -> str:
    """Return the group's name; raise BadValue or LocalError for a join that no registry need be asked about."""
    # Of a name that nobody can have the registry would only say that there is no such group.
    group = names.group_name(group)
    if create is not None and not isinstance(create, Definition):
        raise BadValue(f"create must be a gcom.Definition, or None; got {create!r}")
    if create is not None and create.group != group:
        raise LocalError(f"the definition is of group {create.group!r}, not {group!r}")
    return group


async def enter(host: Host, group: str, uses: Uses, create: Definition | None, timeout_s: float) -> Membership:
    """Become a member of a group (`Node.join`). Holds the lock."""
    deadline = monotonic() + timeout_s
    if create is not None and host.rights is not None:
        host.rights.raise_if_outside(host.name, group)  # else the group would be created, and stay empty
    # 1. A leader admits this process, and its INSTALL is lost. 2. It is silent to the others, and put out. 3. It
    # asks again, and is told so. It had nothing to lose: as another process it may be let in at once.
    for _ in range(JOIN_TRIES - 1):
        with suppress(Detached):
            return await host.enter(group, uses, create, max(0.0, deadline - monotonic()))
    return await host.enter(group, uses, create, max(0.0, deadline - monotonic()))


@uninterrupted(closes=True)
def connect(
    name: str,
    registry: str | None = None,
    *,
    log_dir: str | Path | None = None,
    log_digests: bool = False,
    timeout_s: float = 10.0,
    listen: str | None = None,
    advertise: str | None = None,
    certificates: CertificateFiles | None = None,
) -> Node:
    """Return a node of that name, at the registry `HOST:PORT`, or at several, `HOST:PORT,HOST:PORT`.

    The registry's default is GCOM_REGISTRY, else the one whose invitation of that name this user accepted, else
    127.0.0.1:7411. One that is not on this machine alone needs certificates: those of an accepted invitation, or
    `certificates`, or GCOM_TLS_CERT, GCOM_TLS_KEY and GCOM_TLS_CA. `listen` is `HOST`, `HOST:PORT` or `HOST:FIRST-LAST`
    (default: where the registry can reach it), `advertise` the address for others where that is another.

    `log_dir`: the folder for delivery logs, with `log_digests` also the CRC-32 of each payload, by which the audit
    judges INTEGRITY. `timeout_s`: how long a join waits. Raises BadValue, RegistryUnavailable, Untrusted,
    VersionMismatch.
    """
    return Node(
        name,
        registry,
        log_dir=log_dir,
        log_digests=log_digests,
        timeout_s=timeout_s,
        listen=listen,
        advertise=advertise,
        certificates=certificates,
    )
