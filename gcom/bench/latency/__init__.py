"""The time from send to delivery of single messages at a steady rate, in turns with a bare Pyro5 echo at that rate."""
