"""Rules for the GPU, the model service, training pods and partitions, and what they share.

``workloads.rules`` runs them all; the rules of one training backend are in its own folder.
"""
