"""An entry of a log: how it is applied, and the configuration that is in force behind it. Pure."""

from __future__ import annotations

from gcom.replicated.durable.rounds import Configuration, LogEntry
from gcom.replicated.messages import (
    CallerClosed,
    CallerOpened,
    CommandSent,
    MembersNoted,
    NamesSet,
    ReplicaMessage,
    decode,
)
from gcom.replicated.replica import Applied, Replica


def apply_entry(replica: Replica, entry: LogEntry, message: ReplicaMessage | None = None) -> Applied | None:
    """Apply an entry, whose message may be decoded already; one that is no command only takes its index."""
    if message is None and entry.payload:
        message = decode(entry.payload)
    if isinstance(message, CommandSent | CallerOpened | CallerClosed | MembersNoted):
        return replica.apply(entry.process, message)
    replica.index += 1
    return None


def following(configuration: Configuration, entry: LogEntry) -> Configuration:
    """Return the configuration that is in force behind an entry."""
    message = decode(entry.payload) if entry.payload else None
    if not isinstance(message, NamesSet) or message.version != configuration.version or not message.names:
        return configuration
    if len(set(message.names) ^ set(configuration.names)) != 1:
        return configuration
    return Configuration(entry.term << 40 | entry.index, message.names)
