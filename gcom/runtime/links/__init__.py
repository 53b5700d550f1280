"""Links: one connection to each peer address, with several frames under way, and one thread that reads them all.

`link` is one of these connections, for the sessions of a host, and `link_table` has all of them; `taken` is what one
was given to carry; `reader` is the thread.
"""
