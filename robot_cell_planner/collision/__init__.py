"""Collision: who may touch whom, the engines that check it, and reports that explain."""
