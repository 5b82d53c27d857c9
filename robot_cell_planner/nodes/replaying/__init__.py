"""Replay of records: the requests of a bag are given to running nodes, or to the library, and the replies compared."""
