"""Errors of topics, in the tree of gcom/errors.py.

LocalError
├── UnknownTopic        the store has no topic of that name
├── UnknownSubscription the topic has no subscription of that name
├── SequenceReused      a sequence was used before, with another body
├── SequenceGap         a message before this one is missing
├── Fenced              a newer producer of that name is open
├── StaleAck            the message was handed to another consumer meanwhile
├── HandlerCommitted    a handler ended the transaction that it was given
├── InboxAhead          the application's database is ahead of the topic
├── StoreClosed         the store was closed
└── StoreDamaged        the file is no store, or its contents do not match their checksums
    └── NewerSchema     a newer version of GCom made the store
Unavailable
├── EffectConflict      other transactions of the application's database stood in the way of a batch
├── QuotaExceeded       the topic takes no more, or not so fast
├── StoreBusy           another process keeps the store locked
├── StoreFull           no room on the disk; nothing was stored
├── ReceiptUnknown      the commit failed: the message is stored, or it is not
└── StoreStopped        the disk failed before; nothing was stored
"""

from __future__ import annotations

from gcom.errors import LocalError, Unavailable


class UnknownTopic(LocalError):
    """The store has no topic of that name."""


class UnknownSubscription(LocalError):
    """The topic has no subscription of that name: it was never made, or ended meanwhile."""


class HandlerCommitted(LocalError):
    """A handler committed, or rolled back, the transaction that it was given; nothing of its batch was kept."""


class InboxAhead(LocalError):
    """The application's database has effects of messages that the topic does not have: one of both is an old copy."""


class SequenceReused(LocalError):
    """A sequence was used before, with another body; nothing was stored."""


class SequenceGap(LocalError):
    """A message before this one is missing in the store; nothing was stored."""


class Fenced(LocalError):
    """A newer producer of that name is open; nothing was stored."""


class StaleAck(LocalError):
    """The message was handed to another consumer meanwhile; the acknowledgement changed nothing."""


class StoreClosed(LocalError):
    """The store was closed."""


class StoreDamaged(LocalError):
    """The file is no store, or its contents do not match their checksums."""


class NewerSchema(StoreDamaged):
    """A newer version of GCom made the store."""


class EffectConflict(Unavailable):
    """Other transactions of the application's database stood in the way of a batch; nothing of it was kept."""


class QuotaExceeded(Unavailable):
    """The topic has as many bytes, or as many messages a second, as it may have; nothing was stored."""


class StoreBusy(Unavailable):
    """Another process keeps the store locked; nothing was stored."""


class StoreFull(Unavailable):
    """The disk has no room; nothing was stored."""


class ReceiptUnknown(Unavailable):
    """The commit failed: the message is stored, or it is not. Sending it again with its sequence settles it."""


class StoreStopped(Unavailable):
    """The disk failed before. The store takes nothing more until it is opened again; nothing was stored."""
