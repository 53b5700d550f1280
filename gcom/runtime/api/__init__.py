"""The library that applications use."""
