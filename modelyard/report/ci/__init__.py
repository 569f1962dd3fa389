"""Findings in the formats of CI systems: annotations of GitHub Actions, JUnit XML and SARIF."""
