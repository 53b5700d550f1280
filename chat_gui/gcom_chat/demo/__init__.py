"""The chat's demonstration: a registry, and three companions as processes of their own that talk, leave, crash, return.

The chat starts them and holds the write end of each one's standard input: when the chat ends, in whatever way, that
closes, and a companion that reads the end of its input leaves.
"""
