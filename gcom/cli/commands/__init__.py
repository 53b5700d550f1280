"""The sub-commands: what each does, apart from the words that it is called with (gcom/cli/app.py)."""
