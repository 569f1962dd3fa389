"""What all tests of the examples for CI systems share."""

from tests.support.git_repository import lender, template  # noqa: F401 (fixtures)
