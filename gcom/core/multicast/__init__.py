"""Delivery to all members of the view, by runs: BASIC, RELIABLE, and RELIABLE that is SAFE.

A run is consecutive messages of one sender; it is numbered when a frame is formed for it, so what was sent while a call
was in flight travels together (decision 0001). A sender's *window* is bounded by what the slowest member has consumed.

- `basic`: each run is sent once; a receiver learns of gaps from the sender's count (GCom 2009 §5.2).
- `reliable`: every receiver stores a run until all hold it. A view change *wedges* all streams, unites what survivors
  hold, and fetches what is missing, so members that go on together deliver the same set (virtual synchrony: Birman and
  Joseph 1987; Chockler, Keidar, Vitenberg 2001, §4).
- `safe`: as reliable, but a message goes up only once a majority holds it (Spread's SAFE; Moser et al. 1994).
- `fragments`: a run larger than a frame travels in fragments. `window`: storage, acknowledgements and credit of a
  stream. `signing`: who made a run, in a signed group.
"""
