"""Links: one connection to each peer address, with several frames under way, and one thread that reads them all."""
