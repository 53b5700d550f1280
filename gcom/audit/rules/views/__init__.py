"""Rules about views: their members and leader, the messages sent and delivered in them, and their succession.

VIEW_AGREEMENT and ONE_LEADER compare records. SENDING_VIEW and VIRTUAL_SYNCHRONY tie messages to views (Birman and
Joseph 1987; Moser et al. 1994 for sending view delivery). CONTINUITY compares the instances of one name (decision
0005).
"""
