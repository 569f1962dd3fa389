"""The Pulumi engine behind ``apply``, ``destroy`` and ``drift``, and the steps inside the program that it runs.

Runs the project's Pulumi program through the Automation API: progress, errors in words, and what the engine's state
says was applied; and what that program does around each resource (``program``). Apart from ``components``, only this
package imports Pulumi, and only those verbs load it. It plans nothing.
"""
