"""Joint-space planning: from a request to a verified plan."""
