"""Rules of replicated states: `durable` and `determinism`, over the `lives` of a state."""
