"""The desktop chat: an application of the library's public part, and the window in which ordering can be seen.

`model` is what the chat knows, without a clock, a thread or Qt; `client` talks to groups, in threads; `storage` keeps
scrollback and settings; `view` is Qt. Updates flow one way: client → bridge (one thread) → model → view (docs/chat.md).
"""
