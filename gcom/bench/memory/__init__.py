"""Whether memory grows with what was sent: resident bytes after all messages, less those after a tenth."""
