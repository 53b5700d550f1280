"""Rules over what applications saw: their own calls, and what was handed to them. A file per family of rules.

`record` is what all of them read. `delivery`, `order`, `total`, `views` and `synchrony` are about multicasts, `state`
and `continuity` about what a group keeps, `doubt` about messages in doubt, `envelopes` about unicasts and calls,
`calls` about what nobody asked for.

They share no code with the core and none with the audit, so that a defect has to be made twice to be missed. Each is
told every event when it happens, and raises a Violation at the first step that breaks a promise, which is what makes a
failing seed short to read.
"""
