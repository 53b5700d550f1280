"""The growth of memory with messages sent: resident bytes after all of them, less those after a tenth."""
