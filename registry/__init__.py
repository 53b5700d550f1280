"""gcom-registry: a Pyro5 name server and the directory of groups, in one process (GCom 2009 §4.1.10)."""
