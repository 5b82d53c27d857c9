"""Collision geometry: conversion of shapes, placements, and broad phase over bounding boxes."""
