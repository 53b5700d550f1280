"""`python -m gcom.cli` is `gcom`."""

from gcom.cli.app import main

if __name__ == "__main__":
    main()
