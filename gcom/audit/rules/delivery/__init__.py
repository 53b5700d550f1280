"""Rules about single messages: each delivery has a send, happens once, with the payload sent, and where it is owed.

NO_CREATION, NO_DUPLICATION and INTEGRITY hold of any multicast; SELF_DELIVERY and AGREEMENT are RELIABLE's: what one
of those who go on together has delivered, all have (Hadzilacos and Toueg 1994; Chockler, Keidar and Vitenberg 2001).
Sets of numbers are compared as ranges, which is exact.
"""
