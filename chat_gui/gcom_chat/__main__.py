"""`python -m gcom_chat`: the command `gcom-chat`."""

from __future__ import annotations

from gcom_chat.cli import main

if __name__ == "__main__":
    main()
