"""Suspicion: an eventually accurate failure detector (Chandra and Toueg 1996), with proof of death beside it.

- `suspicion`: the suspected members, and why. A suspicion is an opinion: it may be wrong, and withdrawn. *Proof* is
  another thing: the process's own kernel says that it is dead (gcom/runtime/user_process/life.py). Only proof, or an
  operator's order, permits a succession.
- `adaptive_timeout`: how long a peer may say nothing, from how it has behaved and how slow this process itself is
  (memberlist's Lifeguard; Jacobson 1988 for the estimate).
- `neighbours`: whom a member watches all the time; in a large view two. `probes`: the questions about a silent member.
- `connectivity`: links that fail between members that others reach: whom to drop so that the rest hears each other
  (partial partitions: Alfatafta et al. 2020).
"""
