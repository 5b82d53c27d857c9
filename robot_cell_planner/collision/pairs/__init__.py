"""Which pairs of collision objects are checked, and at what margin."""
