"""Rules about single messages: a message delivered was sent, and arrives once, unchanged, at each process that owes it.

NO_CREATION, NO_DUPLICATION and INTEGRITY hold of any multicast; SELF_DELIVERY and AGREEMENT are RELIABLE's: of the
processes that go on together, each has delivered every message that one of them delivered (Hadzilacos and Toueg 1994;
Chockler, Keidar and Vitenberg 2001). Sets of numbers are compared as ranges, which is exact.
"""
