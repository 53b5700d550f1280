"""The command `gcom`: `app.py` turns words into values, the other files do what the sub-commands say."""
