"""The instruments of the chat: a dock with a page for each thing to see, ordering duel, debug mode, audit."""
