"""Units beside values of pgpool.conf, as pages show them."""

import pytest

from apps.clusters.templatetags.parameter_words import with_unit

NB = "\u00a0"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("client_idle_limit", "300", f"5{NB}min"),
        ("client_idle_limit", "77s", ""),
        ("delay_threshold", "2097152", f"2{NB}MB"),
        ("delay_threshold", "4MB", ""),
        ("health_check_timeout1", "20", f"20{NB}s"),
        ("load_balance_mode", "on", ""),
        ("backend_weight1", "500", ""),
        ("no_such_name", "1", ""),
        ("client_idle_limit", None, ""),
    ],
)
def test_a_bare_figure_gets_its_unit(name: str, value: object, shown: str) -> None:
    assert with_unit(value, name) == shown
