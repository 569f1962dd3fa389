"""A preview as text, as a comment under a pull request, and as JSON; ``report.html`` makes the page of it."""
