"""The chat's side of the library: a node, a thread that receives and one that sends per group, and jobs that may wait.

Nothing here knows Qt. What happens goes as an `Update` into a sink, which any thread may call, and which may make its
caller wait: a peer that sends faster than a window can show is slowed down by the group's own flow control.
"""
