"""The work of the sub-commands that look at a registry, apart from their options (registry/cli.py)."""
