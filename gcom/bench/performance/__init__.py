"""The page docs/performance.md: what `gcom bench all` measures, with tables, plots, the machine and the commit."""
