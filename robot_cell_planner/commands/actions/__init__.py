"""What the commands do. Each module is imported when a command that is declared in the module of its name runs."""
