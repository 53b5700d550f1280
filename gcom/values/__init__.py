"""Immutable nouns that everything else speaks of: names, definitions, views, runs, clocks, and shared bounds.

Of a group: `definition` (with `detection`), `view`, `lineage`; of what is sent: `run`, `envelope`, `answers`, `clock`;
of who speaks: `names` (with `spelling`), `identity`, `rights`; of a look at it: `snapshot`.

They know no protocol. `limits` has the bounds and times that packages share; `lineage` the ids of instances, and which
of two stands above. Equal values are interchangeable, so machines, codecs, logs and tests compare them freely.
"""
