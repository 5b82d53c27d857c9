"""What is planned: requests, constraints, the searched space, checks, and the resulting plan."""
