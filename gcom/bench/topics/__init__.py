"""The cost of topics: messages per second and latency, beside a bare commit of one row in the same run."""
