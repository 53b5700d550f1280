"""The command `gcom`: groups from a shell, one command a file of the same name or a function of `app.py`."""
