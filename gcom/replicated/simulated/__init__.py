"""Replicated machines in a world of one seed: order, disks and faults are simulated, and the replicas are real."""
