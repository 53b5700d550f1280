"""The meaning of a violation to the author of an application who does not know the theory: a headline and a text.

The sentence of a violation names processes, numbers and views; this says beside it, rule by rule, what went wrong in
plain words, and what an application must expect of its data.
"""

from __future__ import annotations

from typing import NamedTuple


class PlainWords(NamedTuple):
    """A rule's violation as a headline of a few words, and what it means for an application."""

    headline: str
    meaning: str


PLAIN = {
    "NO_CREATION": PlainWords(
        "A message came from nowhere",
        "A member acted on a message that its sender never sent. Do not trust what was computed from it.",
    ),
    "INTEGRITY": PlainWords(
        "A message changed on its way",
        "A member received other bytes than were sent. Its data may differ from that of all others.",
    ),
    "NO_DUPLICATION": PlainWords(
        "A message was delivered twice",
        "A member applied one message two times. A counter, a payment or an entry may be there twice.",
    ),
    "VIEW_AGREEMENT": PlainWords(
        "Members disagree on who is in the group",
        "Two members saw different lists of members under one number. Work that is shared out by that list may be done "
        "twice, or by nobody.",
    ),
    "ONE_LEADER": PlainWords(
        "Two members were leader at once",
        "Two members may have done the work of the leader.",
    ),
    "SENDING_VIEW": PlainWords(
        "A message came after the group had changed",
        "A member delivered a message among other members than it was sent to. What it says about the group may be "
        "out of date.",
    ),
    "AGREEMENT": PlainWords(
        "A message is missing at one member",
        "A member has a message that another member never got, though both went on together. Their data differ "
        "from here on.",
    ),
    "SELF_DELIVERY": PlainWords(
        "A member never got its own message",
        "The sender went on without its own message. It shows other data than it believes to have written.",
    ),
    "CONTINUITY": PlainWords(
        "The group went on without all of its past",
        "After a restart or a split the group lost something that was confirmed, or went on twice. Confirmed data may "
        "be gone.",
    ),
    "FIFO": PlainWords(
        "Messages of one sender came out of order",
        "A member saw a later message of a sender before an earlier one. A change may have been applied to a state "
        "that it does not fit.",
    ),
    "CAUSAL": PlainWords(
        "An answer came before its question",
        "A member delivered a message before another one that its sender had already seen. Readers see effects "
        "before their causes.",
    ),
    "CLOCK": PlainWords(
        "A message tells a wrong past",
        "A message says that its sender had seen other messages than the sender really had. Causes cannot be told from "
        "such a message.",
    ),
    "TOTAL": PlainWords(
        "Members saw messages in different orders",
        "Two members applied the same messages in two orders. Replicas that depend on the order differ.",
    ),
    "TOTAL_GAP_FREE": PlainWords(
        "Members did not go through the same messages",
        "Two members that went on together have different sequences. Replicas differ from the first place where "
        "the sequences part.",
    ),
    "SERIAL_UNIQUE": PlainWords(
        "A place in the order has two messages",
        "A place in the common order is taken by two messages, or one message has two places. Replicas that read up to "
        "that place may differ.",
    ),
    "SERIAL_CONTIGUOUS": PlainWords(
        "A place in the order was left out",
        "A member passed over a place in the common order, or went back. It may lack a message that others applied.",
    ),
    "VIRTUAL_SYNCHRONY": PlainWords(
        "Members changed the group with different messages",
        "Two members went over to the next list of members with different messages delivered. A newcomer gets another "
        "state from one than from the other.",
    ),
    "DURABLE": PlainWords(
        "An answered command is gone",
        "A caller was told that its command is done, and a later state does not have it. Confirmed data may be lost.",
    ),
    "DETERMINISM": PlainWords(
        "Replicas of one state differ",
        "Two replicas applied the same commands and have different data. Look for time, chance, or the order of a set "
        "in the machine.",
    ),
    "RYW": PlainWords(
        "A session did not see its own write",
        "A user changed something, and a later page showed it as it was before.",
    ),
    "MR": PlainWords(
        "A session went back in time",
        "A user saw a change, and a later page was without it.",
    ),
    "MW": PlainWords(
        "A session's writes are out of order, or applied twice",
        "A later write of a user took effect before an earlier one, or one of them twice.",
    ),
    "WFR": PlainWords(
        "A write came before what it answers",
        "A user read something and wrote an answer. Others can see the answer without what it answers.",
    ),
    "BANK": PlainWords(
        "A sum that must stay has changed",
        "The machine's invariant, as all money of a bank, is not what it was. Money was made or lost.",
    ),
    "EO-1": PlainWords(
        "A message had its effect twice, or never",
        "The application's own tables do not show each message once. A booking may be missing, or be there twice.",
    ),
    "EO-2": PlainWords(
        "A producer's messages are stored out of order",
        "A reader gets a later message of one producer before an earlier one.",
    ),
    "EO-3": PlainWords(
        "A message with a receipt is gone",
        "The producer was told that its message is stored, and it is not. It will not be sent again.",
    ),
    "EO-4": PlainWords(
        "A message is stored that should not be",
        "A reader gets a message that nobody sent, or that its producer was told is not stored.",
    ),
    "EO-5": PlainWords(
        "A message is stored twice",
        "A message of a producer has two places in its topic. Readers without an inbox count it twice.",
    ),
    "EO-6": PlainWords(
        "Effects of a shard overlap",
        "A consumer did again what another one had done, or went back. The application's tables may have it twice.",
    ),
}
