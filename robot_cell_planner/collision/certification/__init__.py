"""Certification of motions: proofs that a continuous motion is free of collision, without sampling."""
