"""`ChatClient`: one node and its groups. Every method returns at once; what comes of it is told to the sink."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Lock

import gcom
from gcom_chat.client.joins import Joins
from gcom_chat.client.membership import NOT_IN, ChatMembership
from gcom_chat.model.backlog import Backlog
from gcom_chat.model.members import Pulse
from gcom_chat.model.texts.protections import protection_text
from gcom_chat.model.texts.words import translate
from gcom_chat.model.updates import (
    Connected,
    InvitationAccepted,
    JoinBegan,
    Joined,
    Left,
    Listed,
    ProtectionTold,
    ReceiptCame,
    RegistryAway,
    RegistryFound,
    StorageTold,
    Update,
    WishFailed,
)
from gcom_chat.model.wire import ChatMessage

JOBS = 4  # that may wait at a time
JOIN_S = 30.0  # a registry that starts takes up to 8 s, a paused holder of the name 4
LEAVE_S = 5.0  # the user has closed the window, and waits
END_S = 1.0  # a thread has its last event already


class ChatClient:
    """The node of a chat. `sink` takes each update, from any thread."""

    def __init__(self, sink: Callable[[Update], None]) -> None:
        self._sink = sink
        self._jobs = ThreadPoolExecutor(JOBS, "chat job")
        self._joins = Joins()
        self._lock = Lock()
        self._node: gcom.Node | None = None
        self._groups: dict[str, ChatMembership] = {}
        self._before: dict[str, ChatMembership] = {}  # at this registry, under the name before
        self._registry = ""
        self._closed = False
        self.listen = self.advertise = ""  # where others reach this chat, from the next connect on; empty: as usual
        self.log_dir: str | None = None  # where delivery logs go, from the next connect on

    @property
    def node(self) -> gcom.Node | None:
        """The node, once there is one: for faults that are put in on purpose."""
        return self._node

    def group(self, name: str) -> gcom.Group | None:
        """Return a group that this chat is in, for its snapshot."""
        with self._lock:
            found = self._groups.get(name)
        return found.group if found and not found.over else None

    def pulse(self, name: str) -> Pulse | None:
        """Return what was last seen of a group's members; asking waits for no network."""
        with self._lock:
            found = self._groups.get(name)
        return found.pulse if found else None

    # wishes

    def connect(self, nick: str, registry: str, log_dir: str | None = None) -> None:
        """Take a name, and find the registry; groups of another name are left first."""
        self._put(translate("wish", "connect"), "", lambda: self._connect(nick, registry, log_dir or self.log_dir))

    def find_registry(self, address: str) -> None:
        """Look whether a registry answers at an address; tell so, and nothing where none does."""
        self._put(translate("wish", "look for a registry"), "", lambda: self._find(address))

    def accept(self, invitation: str) -> None:
        """Take up an invitation: get the certificate of its name."""
        self._put(translate("wish", "accept the invitation"), "", lambda: self._accept(invitation))

    def ask_protection(self, nick: str, registry: str) -> None:
        """Find out how a connection would be protected, and what is wrong with its certificate."""
        self._put(translate("wish", "read the certificate"), "", lambda: self._tell_protection(nick, registry))

    def list_groups(self) -> None:
        """Ask the registry which groups there are."""
        self._put(translate("wish", "list the groups"), "", self._list)

    def ask_registry(self) -> None:
        """Ask as `list_groups` does, by nobody's wish: that no registry answers is told, and no wish that failed."""
        self._put("", "", self._list)

    def create(self, definition: gcom.Definition) -> None:
        """Make a group, and join it; a join of it that is under way comes first."""
        what = translate("wish", "create the group {}").format(definition.group)
        job = self._job(what, definition.group, lambda: self._join(definition))
        if not self._closed and not self._joins.follow(definition.group, job):
            self._joins.join(definition.group, job)

    def join(self, group: str, again: gcom.Definition | None = None) -> None:
        """Join a group that is there, or make it `again` if all have left; one that is under way does that already."""
        if not self._closed:
            what = translate("wish", "join the group {}").format(group)
            self._joins.join(group, self._job(what, group, lambda: self._join(again, group)))

    def leave(self, group: str) -> None:
        """Leave a group, or what a join that is under way will have come to."""
        job = self._job(translate("wish", "leave the group {}").format(group), group, lambda: self._leave(group))
        # A join that is under way cannot be broken off: the leave follows it, and the user has not to wait.
        if not self._closed and not self._joins.follow(group, job):
            self._jobs.submit(job)

    def send(self, group: str, message: ChatMessage, to: str = "") -> str:
        """Send to a group, or to one member of it; return why that cannot be, empty: it is under way."""
        with self._lock:
            found = self._groups.get(group)
        return found.send(message, to) if found else translate("say", NOT_IN)

    def ask_receipt(self, group: str, process: str, number: int) -> None:
        """Ask which members hold an own message; the answer comes as a ReceiptCame."""
        what = translate("wish", "ask who has the message")
        self._put(what, group, lambda: self._ask_receipt(group, process, number))

    def close(self, timeout_s: float = LEAVE_S) -> None:
        """Leave all groups, as far as the time allows."""
        self._closed = True
        # Joins are threads of their own: what would follow one is not begun any more.
        self._joins.close()
        # Not waited for: a job may ask a registry that does not answer, and the window is to close now.
        self._jobs.shutdown(wait=False, cancel_futures=True)
        if self._node:
            self._node.close(timeout_s)
        with self._lock:
            groups = list(self._groups.values())
        for membership in groups:
            membership.join(END_S)  # what became of the own lines is told before this returns

    # jobs

    def _put(self, what: str, group: str, job: Callable[[], None]) -> None:
        if not self._closed:
            self._jobs.submit(self._job(what, group, job))

    def _job(self, what: str, group: str, job: Callable[[], None]) -> Callable[[], None]:
        """Return a job that tells why it failed, where that is still of interest."""
        joins = self._joins

        def run() -> None:
            try:
                job()
            except gcom.GComError as error:
                # Two words of one failure: the banner says that the registry is away, and the wish that it was not
                # granted.
                if isinstance(error, gcom.RegistryUnavailable):
                    self._sink(RegistryAway(str(error)))
                if what and (not group or joins.is_wanted(group)):
                    missing = isinstance(error, gcom.UnknownGroup)
                    # The library's own words tell of its commands, which nobody types here.
                    why = translate("chat", "there is no group {} yet").format(group) if missing else str(error)
                    self._sink(WishFailed(what, why, group, missing))

        return run

    def _connect(self, nick: str, registry: str, log_dir: str | None) -> None:
        node = self._node_of(nick, registry, log_dir)
        try:
            # Asked before anything is left: a chat whose new registry does not answer stays in the groups that it has.
            groups = node.groups()
        except gcom.GComError:
            # It has joined nothing yet: there is nobody to take leave of.
            node.close(0)
            raise
        with self._lock:
            # Both at once: whoever asks for a group in between finds that it is in none, and not one of the node
            # before.
            before, self._node = self._node, node
            left, self._groups = self._groups, {}
            self._before = left if registry == self._registry else {}
            self._registry = registry
            joins, self._joins = self._joins, Joins()
        joins.close()  # what it still does is of the node before
        if before:
            before.close(LEAVE_S)
        for membership in left.values():
            membership.join(LEAVE_S)  # what it still tells is of the time before
        self._sink(Connected(registry, nick))
        self._sink(Listed(groups))

    def _node_of(self, nick: str, registry: str, log_dir: str | None) -> gcom.Node:
        """Return a node; logs that cannot be written keep nobody from talking."""
        try:
            return self._made(nick, registry, log_dir)
        except gcom.GComError as error:
            # A registry that does not answer is not the logs' fault: without them it would fail again.
            if not log_dir or isinstance(error, gcom.RegistryUnavailable):
                raise
            node = self._made(nick, registry, None)
            text = translate("storage", "no delivery logs are written ({}); choose another folder: F12, Audit")
            self._sink(StorageTold(text.format(error)))
            return node

    def _made(self, nick: str, registry: str, log_dir: str | None) -> gcom.Node:
        listen, advertise = self.listen or None, self.advertise or None
        return gcom.connect(nick, registry, log_dir=log_dir, listen=listen, advertise=advertise)

    def _find(self, address: str) -> None:
        # That none answers is no failed wish: it was only looked for, and nobody has typed that address.
        try:
            with closing(gcom.Directory(address)) as directory:
                directory.groups()
            self._sink(RegistryFound(address, answers=True))
        except gcom.GComError:
            self._sink(RegistryFound(address, answers=False))

    def _accept(self, invitation: str) -> None:
        found = gcom.accept(invitation)
        self._sink(InvitationAccepted(found.name, found.registry))

    def _tell_protection(self, nick: str, registry: str) -> None:
        try:
            found = gcom.protection(nick, registry)
            told = ProtectionTold(nick, registry, protection_text(found), certified=found.kind != "local")
        except gcom.GComError as error:
            told = ProtectionTold(nick, registry, str(error), trouble=True)
        self._sink(told)

    def _list(self) -> None:
        self._sink(Listed(self._need_node().groups()))

    def _join(self, create: gcom.Definition | None, name: str = "") -> None:
        name = create.group if create else name
        if group := self.group(name):
            if create is None:
                raise gcom.LocalError(f"this chat is in group {name!r} already")
            return self._compare(create, group)
        # Where this chat begins the group again, nobody else could tell newcomers the topic and what was said.
        with self._lock:
            before = self._groups.get(name) or self._before.get(name)
        backlog = before.backlog_then() if before else Backlog()
        self._sink(JoinBegan(name))
        # The state may come while `join` still waits, before there
        # is a membership to tell it: it reads the backlog then.
        told: list[ChatMembership] = []

        def set_state(data: bytes) -> None:
            (told[0] if told else backlog).set_state(data)

        node = self._need_node()
        group = node.join(
            name,
            create=create,
            get_state=backlog.get_state,
            set_state=set_state,
            merge_states=backlog.merge_states,
            timeout_s=JOIN_S,
        )
        membership = ChatMembership(group, backlog, self._sink)
        told.append(membership)
        with self._lock:
            if node is not self._node:
                return None  # connected anew meanwhile, which ends the groups of the node before
            self._groups[name] = membership
        self._sink(Joined(name, group.process, group.definition, group.view))
        # After `Joined` is told: what its threads read would else reach a model that has no such group.
        membership.start()
        return self._compare(create or group.definition, group)

    def _compare(self, create: gcom.Definition, group: gcom.Group) -> None:
        """Say that a group that was joined has other promises than were asked for, as a wish that failed."""
        if create != group.definition:
            why = translate("wish", "it was there already, with other promises ({}), and was joined")
            what = translate("wish", "create the group {}").format(create.group)
            self._sink(WishFailed(what, why.format(group.definition.ordering.value), create.group))

    def _leave(self, name: str) -> None:
        with self._lock:
            # Taken out first: who writes to it meanwhile is told that the chat is not in the group.
            found = self._groups.pop(name, None)
        if found is None:
            self._sink(Left(name, "request"))
        else:
            found.leave(LEAVE_S)

    def _ask_receipt(self, group: str, process: str, number: int) -> None:
        if found := self.group(group):
            # Numbers begin at 1 again with each life: those of one before would name another message.
            if process not in ("", found.process):
                text = translate("receipt", "it was sent by {}, which is no more; this chat is {} now")
                raise gcom.LocalError(text.format(process, found.process))
            self._sink(ReceiptCame(group, found.receipt(number)))

    def _need_node(self) -> gcom.Node:
        if self._node is None:
            raise gcom.LocalError("this chat is not connected: connect to a registry first")
        return self._node
