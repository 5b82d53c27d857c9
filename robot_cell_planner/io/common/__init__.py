"""What all readers share: resource roots, YAML and XML from outside, exact serialisation."""
