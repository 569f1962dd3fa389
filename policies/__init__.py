"""The Pulumi policy pack of this project.

``rules/`` has one module a concern, each rule a pure function; ``assertions/`` has rules without code; ``policy.yaml``
sets levels and parameters for every stack. ``__main__.py`` runs them all inside Pulumi. ``modelyard check``, ``plan``
and ``apply`` run the same rules over a plan.
"""
