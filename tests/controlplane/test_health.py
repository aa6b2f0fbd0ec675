"""/healthz and /readyz: open to everybody, honest about what is away."""

import pytest
from django.db import OperationalError, connection
from django.test import Client

from controlplane import __version__


def test_healthz_answers_without_database_or_redis():
    answer = Client().get("/healthz")

    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "version": __version__}


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_a_write_is_no_method_here(address, method):
    answer = getattr(Client(enforce_csrf_checks=True), method)(address)

    assert (answer.status_code, answer.headers["Allow"], answer.content) == (405, "GET, HEAD", b"")


@pytest.mark.django_db
def test_readyz_is_ok_with_database_and_redis():
    answer = Client().get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "version": __version__, "database": "ok", "redis": "ok"}


@pytest.mark.django_db
def test_readyz_is_degraded_without_redis(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    answer = Client().get("/readyz")

    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["redis"]) == ("degraded", "unreachable")


@pytest.mark.django_db
def test_readyz_is_503_without_the_database():
    def refuse(*_: object) -> None:
        raise OperationalError("the connection is closed")

    with connection.execute_wrapper(refuse):
        answer = Client().get("/readyz")

    assert answer.status_code == 503
    assert answer.json()["status"] == "unavailable"
