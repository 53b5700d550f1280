"""`python -m gcom_registry` is `gcom-registry`."""

from gcom_registry.cli import main

if __name__ == "__main__":
    main()
