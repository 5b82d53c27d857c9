"""Running motions: streaming, monitoring, and their outcome."""
