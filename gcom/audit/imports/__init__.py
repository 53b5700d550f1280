"""Imports: other systems' logs as delivery logs, which the audit then judges (`gcom audit import`).

Each form fills in what its records say, and names the rules that they can carry; the audit expects no others of the
group (`carries` in DELIVERY_LOG.md). `shiviz` reads vector clocks, `jepsen` list-append histories, by `edn`, and
`porcupine` those of a key-value store, both as `lists`; `consumers` what consumers of Kafka and NATS were handed.
`writing` is what they share.
"""
