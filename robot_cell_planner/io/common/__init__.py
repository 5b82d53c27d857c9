"""Shared by all readers: resource roots, untrusted YAML and XML, exact serialisation."""
