"""Planning problem: requests, constraints, search space, collision checks, and the resulting plan."""
