"""Facts: the values of a stack that patches and assertions may ask for, by their paths.

Owns the dictionaries in which templates see a stack (``stack``), its jobs, pool, node pools, notebooks, partitions,
Python environments and remote clusters. Does not render (``catalog`` does) and does not judge.
"""
