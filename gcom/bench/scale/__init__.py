"""Groups of several sizes: what all members deliver under full load, and the time of single messages."""
