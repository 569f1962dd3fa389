"""The Pulumi engine behind ``apply``, ``destroy`` and ``drift``, and the steps inside the program that it runs.

Runs the project's Pulumi program through the Automation API, reports progress, explains errors, and reads from the
engine's state what was applied. ``program`` has what the program does around each resource. Apart from ``components``,
only this package imports Pulumi, and only these commands load it. Plans nothing.
"""
