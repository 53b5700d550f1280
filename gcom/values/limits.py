"""Bounds and times that the core, the runtime and the registry share; a bound of one file alone stands in that file.

Units are in the names. What happens at a bound is said beside it.
"""

from __future__ import annotations

# Of frames and of what the registry is asked. Raised by the first change of any of that after a release, as
# tests/core/test_wire.py says.
PROTOCOL_VERSION = 3

# A frame is one Pyro5 call, and costs as much as hundreds of messages: at half the size a flood of 1 KB is a quarter
# slower (docs/decisions/0014). Larger ones would hold up what must not wait behind them: two of these take 80 ms at
# 100 Mbit/s, and at 3 Mbit/s the time of a call.
FRAME_BYTES_MAX = 512 * 1024
# What a frame keeps free for its status and control items.
FRAME_HEADER_BYTES = 40 * 1024
CONTROL_ITEMS_TAKEN = 16  # into one frame, so that they fit there
# What a frame carries of streams: runs, or a fragment of a run that alone is larger.
LOAD_BYTES_MAX = FRAME_BYTES_MAX - FRAME_HEADER_BYTES
# An encoded run of several messages fits a load. A message that alone does not is a run of its own, sent in fragments.
RUN_BYTES_MAX = LOAD_BYTES_MAX - 64
RUN_MESSAGES_MAX = 2048
# Frames to one peer that are not answered yet. A second one with data keeps the peer busy while the answer to the first
# travels; a third would only make each of them smaller. The rest of the places are for what must not wait behind data:
# control items, orders, acknowledgements. At the bounds what is to be said waits, and travels together.
FRAMES_IN_FLIGHT_MAX = 8
LOADS_IN_FLIGHT_MAX = 2
SMALL_LOADS_IN_FLIGHT_MAX = 6  # which leave room for what must not wait
TINY_LOAD_BYTES = 2 * 1024  # behind one with less the next goes at once, while fewer than these are under way
TINY_LOADS_IN_FLIGHT_MAX = 3
# Behind a smaller load the next waits for the answer, and collects meanwhile; a larger run does not wait for its order.
LARGE_LOAD_BYTES = 54 * 1024
SMALL_LOAD_BYTES = 16 * 1024  # below it waits for a millisecond, and then for the next look at the link
RUN_HEADER_BYTES = 5  # what a load has before each encoded run
FRAGMENT_HEADER_BYTES = 128  # of a fragment, beside its data

# A larger message is refused by `send`. The bound is on memory: a sender and each receiver hold a message twice, as
# bytes of the stream and as payload, and a receiver once more while it is decoded.
MESSAGE_BYTES_MAX = 16 * 1024 * 1024
# An encoded run of one message: its numbers and a full clock beside it. A fragment of a larger one is malformed. At
# most this is assembled of a sender at a time, so a member assembles at most (MEMBERS_MAX - 1) times this: 1 GiB, where
# 63 others send at the limit at once. Only what has arrived takes memory, whatever total a fragment announces.
LARGE_RUN_BYTES_MAX = MESSAGE_BYTES_MAX + 16 * 1024
# What vouches for the key that signs a run: a certificate of ours has 500 bytes. A process with a larger one enters no
# signed group; a run with more is malformed.
CREDENTIAL_BYTES_MAX = 4 * 1024

# A sender's window: messages not yet consumed by every member. At the bound nothing is numbered; what waits fills up
# the next bound, and then `send` blocks. Below a bound in bytes a message of any size is let in, so that one message
# may overshoot it.
WINDOW_MESSAGES_MAX = 32 * 1024
# The windows of all members together. Each has WINDOW_MESSAGES_MIN at least; in views of up to WINDOW_FEW_MEMBERS, at
# least WINDOW_MESSAGES_FEW_MIN. When all send, a message waits behind what is in all of them (docs/decisions/0014).
WINDOWS_MESSAGES_MAX = 128 * 1024
WINDOW_MESSAGES_MIN = 4 * 1024
WINDOW_MESSAGES_FEW_MIN = 16 * 1024
WINDOW_FEW_MEMBERS = 16
WINDOW_PARTS = 8  # once the window was full it opens again by such a part, for a whole run, or for all that waits
WINDOW_BYTES_MAX = 4 * 1024 * 1024
# Sent by the application, not yet numbered. At the bound `send` blocks. One run of small messages: in a flood this is
# the queue in which a message waits longest, and at four times as many it is not faster (docs/decisions/0014).
PENDING_MESSAGES_MAX = RUN_MESSAGES_MAX
PENDING_BYTES_MAX = 1024 * 1024

# An envelope, to one member or of a call, must fit a frame; a larger one is refused.
ENVELOPE_BYTES_MAX = 128 * 1024
ENVELOPE_HEADER_BYTES = 32  # its number, kind and call as they travel
ENVELOPES_TAKEN = 512  # into one frame
# What envelopes may take of a frame: one of the largest. Envelopes and runs take turns at being first in a frame.
ENVELOPES_BYTES_TAKEN = ENVELOPE_BYTES_MAX + ENVELOPE_HEADER_BYTES
# Unicasts to one member that wait for its window. At the bound `send_to` blocks.
UNICASTS_WAITING_MAX = 1024
UNICASTS_WAITING_BYTES_MAX = 1024 * 1024
# Unicasts of one sender that one receiver's application has not read. At the bound they wait at the sender.
UNICASTS_UNREAD_MAX = 1024
UNICASTS_UNREAD_BYTES_MAX = 1024 * 1024
# Requests of one caller that one member has not answered. At the bound they wait at the caller.
REQUESTS_UNSERVED_MAX = 16
CALLS_OPEN_MAX = 256  # of one process in one group. At the bound `call` blocks.
ERROR_CHARACTERS_MAX = 1000  # of what a handler raised; the rest is cut off
# The application's state for a joiner. A larger one is refused. At the second bound, what a donor holds for all of its
# joiners together, the next donor is asked. A chunk leaves more than half of its frame's load to data.
STATE_BYTES_MAX = 256 * 1024 * 1024
STATES_BYTES_MAX = 2 * STATE_BYTES_MAX
STATE_CHUNK_BYTES = 96 * 1024
STATE_CHUNKS_MAX = -(-STATE_BYTES_MAX // STATE_CHUNK_BYTES)

# Connections to one server at once, each with a thread: members of several full groups, and as many strangers. At the
# bound the longest idle one gives way to a new one; where all are being served, the new one is told so and closed.
CONNECTIONS_MAX = 300
# Connections from one other machine that have not shown who they are. At the bound the oldest of them gives way.
NEWCOMERS_PER_HOST_MAX = 64
CONNECTION_IDLE_MS = 60_000  # a connection without a request for this long is ended; its caller dials anew

REGISTRY_PORT = 7411  # where none is named
REGISTRIES_MAX = 8  # of one process; each is told of every view. A longer list is refused.
MEMBERS_MAX = 64  # a full mesh; beyond it a view change costs more than it is worth. At the bound a join is refused.
JOINS_PENDING_MAX = 128  # processes waiting to be admitted. At the bound a join is refused: try again.
GONE_MAX = 1024  # departed processes whose late Joins are known for what they are; the oldest are forgotten
CONTROL_ITEMS_MAX = 256  # in one frame. A frame with more is malformed.
ORDERS_MAX = 512  # spans of the order in one frame or answer. One with more is malformed.
DIRECTORY_GROUPS_MAX = 10_000  # At the bound a create is refused.
WITNESS_RECORDS_MAX = 100_000  # votes of so many instances are kept for ever. At the bound no new one gets any.
ATTEMPT_MAX = 2**31  # of a ballot; an honest proposer needs one per failure
NUMBER_MAX = 2**63 - 1  # message, serial and view numbers fit Spark's bigint

# Timing, in milliseconds of the process's own running time.
HEARTBEAT_MS = 500  # an idle link says this often that both its processes live
REDIAL_MS = 250  # a peer whose calls fail is called again
# Of two processes the one with the greater id sends its heartbeat so much earlier. It must be longer than a call takes,
# or each would call the other.
HEARTBEAT_LEAD_MS = 25
# A wake for a heartbeat or a redial may be so late, to go with a tick of a machine. The caller's is within its lead, of
# which a call needs the rest; the other side's only finds, as a rule, that it was called.
CALLER_LATE_MS = 10
CALLEE_LATE_MS = 60
# What is due so soon of another group goes with what is due now: two processes with twenty groups in common wake each
# other as often as with one. Half of the time between two: so whatever came apart is together again after one of them.
HEARTBEATS_TOGETHER_MS = HEARTBEAT_MS // 2
TICKS_TOGETHER_MS = HEARTBEAT_MS // 4
# Of two processes with several groups in common one group's heartbeat says that they live. Each of the others has an
# exchange of its own at least this often, and sooner if there is something to say: as long as a silence lasts at most.
OWN_EXCHANGE_MS = 8 * HEARTBEAT_MS
# In a larger view a member beats with the two beside it alone. The links to the others rest while there is nothing to
# say, and wake as soon as anybody doubts anybody. Each has an exchange now and then, so that its connection is kept.
# Up to here the heartbeats of all with all cost an eighth of a core at most.
WATCH_ALL_MAX = 16
BEATS_MAX = 16  # of them in HEARTBEAT_MS, while somebody is doubted: in a larger view each link has its turn less often
REST_MS = 50_000  # at most; a server ends what is idle for CONNECTION_IDLE_MS
WAKE_MS = 1_000  # a peer whose link rested has so long to say something before its silence counts
SILENCE_MS = 2_000  # nothing heard for this long: evidence, while little is known of the peer's usual gaps
# Evidence no sooner, however regular the peer was: a false suspicion costs more than the time.
SILENCE_MIN_MS = HEARTBEAT_MS + 1_250
SILENCE_MAX_MS = 4_000  # suspected, though others hear it
PROBE_MS = 300  # helpers have this long to say whether they hear a peer
PROBE_HELPERS = 3  # members that are asked
HANDLER_GRACE_MS = 500  # calls to a newcomer wait for its first handler so long after it entered
DETACH_MS = 3_000  # no quorum heard for this long: detached
RESEND_MS = 200  # an unanswered question of a view change is asked again
WITNESS_RETRY_MS = 500  # an unanswered question to the witness is asked again
STALL_MS = 600  # a change that ends later than this may be superseded by rank 0, twice this by rank 1, …
FETCH_RETRY_MS = 300  # an unanswered fetch is sent to the next holder
GAP_GRACE_MS = 500  # BASIC: a missing run is given up after this long
JOIN_RETRY_MS = 250  # an unanswered join is asked again
JOIN_STAGGER_MS = 500  # a member that does not answer a join for this long is not waited for: the next is asked, too
CUT_MS = 1_000  # two members that others reach do not reach each other for this long: the group drops one
CUTS_GATHER_MS = 3_000  # a conflict waits for newer ones to last as long, but no longer than this
# Half of a view, to which the registry may give its vote, is detached later than DETACH_MS: it needs time to find out
# which members are cut off, to gather the conflicts, and to ask for the vote.
TIE_MS = SILENCE_MAX_MS + CUTS_GATHER_MS + 2 * WITNESS_RETRY_MS
# A name that was dropped although others heard it stays out from the second time on: for so long, then twice that, …,
# FLAP_MAX_MS at most. A name that was not dropped again for 2 * FLAP_MAX_MS begins anew.
FLAP_MS = 4_000
FLAP_MAX_MS = 32_000
DISCOVERY_MS = 1_500  # a PARTITIONABLE group's members look for an instance for so long before they begin one
DISCOVER_MS = 1_000  # a PARTITIONABLE group's leader calls members that were cut off this often
RETURN_RETRY_MAX_MS = 2_000  # one that lost its group tries again after JOIN_RETRY_MS, twice that, …, this at most
WITHDRAW_MS = 1_000  # a join that is broken off may still end in the view for so long; then it asks no more
JOIN_GATHER_MS = 15  # joins of which each comes so soon after the last go in one view
JOINS_GATHER_MAX_MS = 60  # the first of them waits so long at most
LAG_MS = 200  # a timer later than this says that the process itself was paused
RENEW_MS = 1_000  # a leader renews its entry this often
LEASE_MS = 4_000  # a directory entry not renewed for this long is doubted
# A registry that starts grants no claim for so long of its own running time (after a pause of its own, 2 * RENEW_MS):
# a living group's members register every RENEW_MS. One that keeps nothing on a disk knows no group at first, and
# waits longer.
START_GRACE_MS = LEASE_MS + RENEW_MS
FORGOTTEN_GRACE_MS = 8_000
TICK_MS = 250  # a registry's clock goes on by twice this at the most: the rest was a pause
REAP_TICKS = 4  # a registry asks its kernel once in so many ticks whether all members of a doubted group are dead
DISSOLVED_MAX = 10_000  # names of which a registry knows that all have left; the oldest are forgotten
CONTEST_MS = (
    600_000  # so long of a registry's running time those who lost a name to a process's own word may contest it
)
CONTESTS_MAX = 10_000
SEATS_MAX = 256  # processes of one group that a registry knows beyond the view; at the bound it notes no more
FORK_MS = 60_000  # an operator's order to fork that nobody has obeyed by then is void
FREE_MS = 10_000  # an order to fork that no member has obeyed by then frees the group's name for newcomers
OPEN_GRACE_MS = 1_000  # a sequencer that knows nothing of a view may not have heard of it yet
SEQUENCER_GRACE_MS = 400  # a sequencer that does not answer is asked again for so long, before the order moves
SEQUENCER_CALL_MS = 500  # an answer of the sequencer that takes longer is none
RETURN_MS = 10_000  # the registry orders again once all have reached it for this long
TIME_WAIT_MS = 5_000  # a leaver serves the cut this long at most
STATE_MS = 10_000  # a donor that gives a joiner nothing new for this long is given up
