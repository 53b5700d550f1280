"""Model of the chat: conversations, members, settings, without Qt, threads or a clock.

Each function is told the time. The view asks a conversation for what is new since it last asked, so that a thousand
messages a second cost one look per tick of the screen.
"""
