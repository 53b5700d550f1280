"""The work of the sub-commands, apart from their options (gcom/cli/app.py)."""
