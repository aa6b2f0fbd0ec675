"""What a new file no longer names is written out with its default."""

import pytest

from apps.clusters.domain.left_out import written_out
from apps.clusters.domain.parameters import catalogue

KNOWN = catalogue.for_version("4.3.5")


@pytest.mark.parametrize(
    ("text", "standing", "whole"),
    [
        ("", "client_idle_limit = 60\n", "client_idle_limit = 0\n"),
        ("client_idle_limit = 5\n", "client_idle_limit = 60\n", "client_idle_limit = 5\n"),
        ("# mine\n", "log_min_messages = 'error'\n", "# mine\nlog_min_messages = 'warning'\n"),
        ("", "backend_weight2 = 7\n", "backend_weight2 = 0\n"),
        ("", "backend_hostname2 = 'pg3'\n", ""),  # servers are registered, not edited
        ("", "client_idle_limt = 60\n", ""),  # pgpool ignored it, so there is nothing to take back
        ("", "!! not readable\n", ""),
    ],
)
def test_a_name_that_goes_gets_its_default(text: str, standing: str, whole: str) -> None:
    assert written_out(text, standing=standing, known=KNOWN) == whole
