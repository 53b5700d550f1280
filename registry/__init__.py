"""gcom-registry: a Pyro5 name server and the directory of groups, in one process (gcom.txt §4.1.10)."""
