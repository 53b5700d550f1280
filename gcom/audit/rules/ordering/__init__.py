"""Rules about the order of delivery: FIFO, CAUSAL, TOTAL, and the clocks and serials that carry them.

FIFO, CLOCK and SERIAL_CONTIGUOUS are found in each log by itself. CAUSAL (Birman, Schiper and Stephenson 1991) compares
what a sender had delivered with what a receiver had settled; TOTAL asks that the union of all orders has no cycle;
TOTAL_GAP_FREE that those who go on together delivered one sequence; SERIAL_UNIQUE that serials number messages.
"""
