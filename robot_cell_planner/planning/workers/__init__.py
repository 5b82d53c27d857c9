"""Worker processes that serve planning requests."""
