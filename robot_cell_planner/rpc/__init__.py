"""JSON-RPC 2.0: the operations of the library for programs in other languages."""
