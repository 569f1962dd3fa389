"""Which pods fit on which nodes, by the scheduler's hard filters.

Owns what a pod requests (``pods``), how many identical pods fit on one node (``capacity``), how many fit on all nodes
besides the running pods (``room``), and the index of nodes that counts them quickly (``node_index``). Places no pod:
the scheduler does. All functions are pure.
"""
