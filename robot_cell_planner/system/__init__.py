"""The operating system: processes, confinement, private files, timers and compiled code."""
