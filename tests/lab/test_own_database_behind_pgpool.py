"""The check that keeps Lifeguard's own database from lying behind a pgpool, against a real one."""

from django.db import connections
from pytest_django import DjangoDbBlocker

from apps.clusters.checks import BEHIND_PGPOOL, own_database_is_not_behind_pgpool
from deploy.lab import Lab


def test_a_database_behind_a_pgpool_is_refused(lab: Lab, django_db_blocker: DjangoDbBlocker) -> None:
    pgpool, app = lab.addresses["pgpools"][0], lab.addresses["app"]
    behind = {
        **connections["default"].settings_dict,
        "HOST": pgpool["host"],
        "PORT": pgpool["port"],
        "NAME": app["database"],
        "USER": app["username"],
        "PASSWORD": app["password"],
    }
    connections.settings["behind"] = behind
    try:
        with django_db_blocker.unblock():
            found = own_database_is_not_behind_pgpool(databases=["behind"])
    finally:
        connections["behind"].close()
        del connections["behind"]
        del connections.settings["behind"]

    assert [message.id for message in found] == [BEHIND_PGPOOL]
