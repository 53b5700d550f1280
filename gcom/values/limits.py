"""Every bound that the core and the shell obey, with the reason for its size.

Units are in the names. What happens at a bound is said beside it.
"""

from __future__ import annotations

PROTOCOL_VERSION = 1

# A frame is one Pyro5 call. Larger frames would hold up heartbeats behind them; at 100 B a message this one
# already carries two thousand, far beyond where batching stops paying (docs/decisions/0001).
FRAME_BYTES_MAX = 256 * 1024
# A message must fit a frame beside its headers; larger ones are refused until there is fragmentation.
MESSAGE_BYTES_MAX = 128 * 1024
# What a frame keeps free for its status and control items.
FRAME_HEADER_BYTES = 40 * 1024
CONTROL_ITEMS_TAKEN = 16  # into one frame, so that they fit there
# One encoded run fits a frame beside its headers.
RUN_BYTES_MAX = FRAME_BYTES_MAX - FRAME_HEADER_BYTES - 64
RUN_MESSAGES_MAX = 2048

# A sender's window: messages not yet consumed by every member. At the bound nothing is numbered; what waits fills up
# the next bound, and then `send` blocks.
WINDOW_MESSAGES_MAX = 32 * 1024
WINDOW_BYTES_MAX = 4 * 1024 * 1024
# Sent by the application, not yet numbered. At the bound `send` blocks.
PENDING_MESSAGES_MAX = 8 * 1024
PENDING_BYTES_MAX = 1024 * 1024

MEMBERS_MAX = 64  # a full mesh; beyond it a view change costs more than it is worth. At the bound a join is refused.
JOINS_PENDING_MAX = 128  # processes waiting to be admitted. At the bound a join is refused: try again.
GONE_MAX = 1024  # departed processes whose late Joins are known for what they are; the oldest are forgotten
CONTROL_ITEMS_MAX = 256  # in one frame. A frame with more is malformed.
DIRECTORY_GROUPS_MAX = 10_000  # At the bound a create is refused.
ATTEMPT_MAX = 2**31  # of a ballot; an honest proposer needs one a failure
NUMBER_MAX = 2**63 - 1  # message, serial and view numbers fit Spark's bigint

# Timing, in milliseconds of the process's own running time.
HEARTBEAT_MS = 250  # an idle link says this often that its process lives
SILENCE_MS = 2_000  # nothing heard for this long: suspected
DETACH_MS = 3_000  # no quorum heard for this long: detached
RESEND_MS = 200  # an unanswered question of a view change is asked again
STALL_MS = 600  # a change that ends later than this may be superseded by rank 0, twice this by rank 1, …
FETCH_RETRY_MS = 300  # an unanswered fetch is sent to the next holder
GAP_GRACE_MS = 500  # BASIC: a missing run is given up after this long
JOIN_RETRY_MS = 250  # an unanswered join is asked again
JOIN_GATHER_MS = 15  # joins that come within this time go in one view
LAG_MS = 200  # a timer later than this says that the process itself was paused
LEASE_MS = 4_000  # a directory entry not renewed for this long is doubted
RENEW_MS = 1_000  # a leader renews its entry this often
LINGER_MS = 5_000  # a leaver serves the cut this long at most
