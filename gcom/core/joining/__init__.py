"""Joining a group, and merging two instances of one group.

- `attempt`: looks a name up, then claims an empty one or asks its leader. `steps`: what that wants a driver to do.
- `join`: the routes while a process is not yet a member; it promises survivors to stay out of a view they ask about.
- `discovery`: in a PARTITIONABLE group, who lost its instance calls those it knew (JGroups MERGE3's INFO messages).
- `merge`: of two living instances one gives way. In PRIMARY groups lineage decides which (gcom/values/lineage.py).

A process that comes back is another process: its name stays, its incarnation is new (GCom 2009 §2.3).
"""
