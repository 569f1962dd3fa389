"""Rules for the GPU, the model service, training pods and partitions, and what they share.

``workloads.rules`` runs them all; the rules of a training backend are in its own module.
"""
