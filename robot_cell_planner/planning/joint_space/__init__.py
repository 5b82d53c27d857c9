"""Planning in joint space: from a request to a checked plan."""
