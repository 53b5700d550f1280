"""The list of a conversation: its rows, how they look, and what a reader does with them."""
