"""Shared code of the nodes: the node base class, parameters, actions, scene and joint state monitors."""
