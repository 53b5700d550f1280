"""Immutable nouns that everything else speaks of: names, definitions, views, runs, clocks, and every bound.

Of a group: `definition` (with `detection`), `view`, `lineage`; of what is sent: `run`, `envelope`, `answers`, `clock`;
of who speaks: `names`, `identity`, `rights`; of a look at it: `snapshot`.

They know no protocol. `limits` has each bound with the reason for its size; `lineage` the ids of instances, and which
of two stands above. Equal values are interchangeable, so machines, codecs, logs and tests compare them freely.
"""
