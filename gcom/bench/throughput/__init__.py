"""Messages per second: members in turns with bare Pyro5 frames, each delivery checked byte by byte."""
