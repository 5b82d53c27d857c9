"""Worker processes for planning requests."""
