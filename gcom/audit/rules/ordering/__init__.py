"""Rules about the order of delivery: FIFO, CAUSAL, TOTAL, and the clocks and serials that carry them.

FIFO, CLOCK and SERIAL_CONTIGUOUS are found in each log by itself. CAUSAL (Birman, Schiper and Stephenson 1991) compares
the messages that a sender had delivered with those that a receiver had settled; TOTAL asks that the union of all orders
has no cycle; TOTAL_GAP_FREE that processes that go on together delivered one sequence; SERIAL_UNIQUE that serials
number messages.
"""
