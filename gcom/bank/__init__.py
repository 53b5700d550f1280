"""A bank of branches: customers bank at any of them, and see their own money (docs/sessions.md).

`accounts` is the replicated machine. `orders` reads the input files of customers and branches, `branches` opens the
branches, and `customers` carries out what customers do.
"""
