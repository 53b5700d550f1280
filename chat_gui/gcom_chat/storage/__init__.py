"""Files of the chat: scrollback in SQLite, settings and session in TOML, all written by one thread.

A disk that is full, read-only or away is said once, and the chat goes on with what it has in memory.
"""
