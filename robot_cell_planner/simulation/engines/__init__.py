"""Physics engines of simulated cells."""
