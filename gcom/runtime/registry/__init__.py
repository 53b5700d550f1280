"""Clients of the registry: its directory, its sequencer, and a registry within this process.

`directory_client` asks the table of groups; a request may be asked again, and a registry that is starting is waited
for. `sequencer_client` asks for serials; a request is put at most once, for an OPEN put again could give serials out
twice (ARCHITECTURE 7). Both know neither sessions nor hosts: they are given the function that makes a call, through
which a host puts its faults. `requests` is the thread that puts a node's questions, and `last_words` keeps what no
registry could be told. `registry_client` has the words for a registry that does not answer, and the command that
starts one. `embedded` starts a registry for tests and notebooks: the one import that points up.
"""
