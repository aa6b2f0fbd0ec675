"""Properties try the same examples every time."""

from hypothesis import HealthCheck, settings

# The same examples every time and no clock: a property that fails, fails for everybody.
settings.register_profile(
    "domain", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("domain")
