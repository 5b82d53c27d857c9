"""Controllers and drives of the joints of a simulated robot."""
