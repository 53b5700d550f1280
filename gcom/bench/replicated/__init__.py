"""The cost of replicated states: commands beside sends of the group, disks, a replay, and a killed leader."""
