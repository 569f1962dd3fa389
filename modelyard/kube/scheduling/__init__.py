"""Which nodes take which pods, by what the hard filters of the scheduler look at.

Owns what a pod asks for (``pods``), how many identical pods one node takes (``capacity``), how many all nodes take
beside what runs on them (``room``), and the index of nodes that counts them quickly (``node_index``). Places no pod:
the scheduler does. All functions are pure.
"""
