"""The cost of being safe: TLS beside plain loopback, and signed groups beside TLS."""
