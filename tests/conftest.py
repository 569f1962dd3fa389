"""What all tests share."""

from hypothesis import HealthCheck, settings

# How fast a machine makes examples says nothing about the code: a busy one must not fail a test.
settings.register_profile("modelyard", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("modelyard")
