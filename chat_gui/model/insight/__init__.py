"""What the instruments of the chat show, as plain values: ordering duel, dock, debug mode, audit."""
