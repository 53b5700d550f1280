"""Views: the membership of a group, agreed by consensus before anybody acts on it.

A view change is one value agreed among the members of the view that is left: the next members and the *flush point*
(how far each stream counts). Join, leave and crash are this one mechanism (docs/protocols/view_change.md).

- `triggers`: why there should be another view, and who may propose it. `admission`: who may come in; `door`: how a
  process that asks is answered and noted. `arrivals`: who has installed the view.
- `consensus`: single-decree Paxos (Lamport 2001) per view; the proposer asks, members promise and are wedged, accept,
  install. `view_change`: the routes between suspicion, consensus, flush and streams. `flush`: fetches missing payloads.
- `succession`, `in_doubt`: how survivors go on where no quorum can be again, and what a detached member cannot know
  (docs/protocols/continuity.md).
- `own_leave`: the wish of this process to leave, and when it may go. `tombstones`: who left, and is told the end
  while it asks. `registration`: what the registry is told of the group.

Safety rests on quorums that meet (`gcom.core.quorum`), never on time; time only decides when to try again.
"""
