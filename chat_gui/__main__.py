"""`python -m chat_gui`: the command `gcom-chat`."""

from __future__ import annotations

from chat_gui.cli import main

if __name__ == "__main__":
    main()
