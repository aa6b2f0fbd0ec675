"""/healthz: this process answers. /readyz: it can do its work, and what of it is missing."""

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from controlplane import __version__


# Nothing is written here, so any write is refused as what it is: 405, not a form of an earlier session.
@csrf_exempt
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok", "version": __version__})


@csrf_exempt
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """503 only without PostgreSQL: without Redis pages and REST go on, live push and nudges pause."""
    database, broker = _database_state(), _redis_state()
    status = "ok" if database == "ok" and broker == "ok" else "degraded" if database == "ok" else "unavailable"
    answer = {"status": status, "version": __version__, "database": database, "redis": broker}
    return JsonResponse(answer, status=200 if database == "ok" else 503)


def _database_state() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "unreachable"
    return "ok"


def _redis_state() -> str:
    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)
    try:
        client.ping()
    except redis.RedisError:
        return "unreachable"
    finally:
        client.close()
    return "ok"
