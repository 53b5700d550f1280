"""Processes that a command starts: told on standard input, heard on standard output, ended with their parent."""
