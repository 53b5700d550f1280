"""The order in which received runs go to the application: none, FIFO, causal, total, causal-total.

All are one interface over runs, `orderer.Orderer`: told of a run, or of a range that is lost, an ordering answers with
what may be handed over now. It never calls anybody, so the data path (`gcom.core.streams`) decides when.

- `fifo`, `causal`: by numbers and by vector clocks (Birman, Schiper, Stephenson 1991, §5.1).
- `total`: by serials, through all views (fixed sequencer, UB variant: Défago, Schiper, Urbán 2004, §4.1).
- `order_log`: a view's order as a log of spans; `agreement`: one member's copy of it, and how much a majority holds;
  `sequencer`: who gives serials out, hosted by the registry (CORFU: Balakrishnan et al. 2012).

docs/ARCHITECTURE.md says which files one more ordering takes (To add an ordering, or a rule).
"""
