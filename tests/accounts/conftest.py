"""Every test of accounts counts failed sign-ins from nought and hashes passwords the quick way."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def quick_passwords(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def no_failed_sign_ins() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()
