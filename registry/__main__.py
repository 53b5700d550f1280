"""`python -m registry` is `gcom-registry`."""

from registry.cli import main

if __name__ == "__main__":
    main()
