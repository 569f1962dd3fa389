"""modelyard plans, checks and applies the GPU side of ML platforms on Kubernetes.

Packages in the order data flows: ``stack``, ``hardware``, ``workloads``, ``catalog``, ``merge``, ``cluster``,
``plan``, ``report``, ``engine``, ``cli``. Below them lie ``findings``, ``quantity`` and ``files``.
"""

__version__ = "0.1.0"
