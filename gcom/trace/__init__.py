"""Delivery logs, as members write them: the contract that the audit reads (docs/DELIVERY_LOG.md).

Runtime and simulator write from the same effects of the core, in the step that delivers, so a log's positions are the
order in which the application was given things. `writer` keeps positions and a bounded buffer, `lines` renders records,
`segment` is a file and its seal, `state` is what a following segment begins with. A log that cannot be written ends,
and says so in an event: what was written stays true, and the audit reports an unknown tail.
"""
