"""The cost of being safe: TLS beside plain loopback, and honest members beside hostile connections."""
