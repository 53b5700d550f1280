"""The cost of groups in which nothing is sent: processor time and switches of threads per member."""
