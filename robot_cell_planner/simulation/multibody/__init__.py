"""Trees of rigid parts with their masses and collision geometries, from which physics engines build their models."""
