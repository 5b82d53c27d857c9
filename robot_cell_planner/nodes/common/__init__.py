"""What all nodes share: the node base class, parameters, actions, scene and joint state monitors."""
