"""The cost of a registry: lookups per second from several processes, and the renewals of many groups."""
