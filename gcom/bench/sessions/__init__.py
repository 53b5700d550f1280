"""The cost of sessions: reads and writes per second under each guarantee beside none, a move, and a bank in full."""
