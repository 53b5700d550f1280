"""Contents of the chat's instruments, as plain values: ordering duel, dock, debug mode, audit."""
