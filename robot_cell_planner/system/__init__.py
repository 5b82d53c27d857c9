"""Operating system services: processes, sandboxing, private files, timers and compiled code."""
