"""The work of `gcom audit`, apart from its options (gcom/cli/commands/audit.py).

`judging` reads and judges logs, `watching` does so again and again, `verdicts` writes what was found, and
`verdict_tables` prints it.
"""
