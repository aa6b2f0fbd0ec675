"""Registers and changes clusters as a YAML file says, each whole or not at all."""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.accounts.access import Caller
from apps.accounts.models import Membership
from apps.clusters.domain import registry_yaml
from apps.clusters.registry.registry_import import import_clusters


class Command(BaseCommand):
    help = "Import clusters from YAML. A password: {env: NAME} is taken from the environment."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("organisation", metavar="ORGANISATION", help="its slug")
        parser.add_argument("file", metavar="FILE", help="- reads standard input")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the admin who is recorded as its author")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done; ask and store nothing")

    def handle(self, **options: Any) -> None:
        # The reader of the REST interface is the one that knows every field.
        from apps.clusters.api.registration_inputs import cluster_wanted

        results = import_clusters(
            caller=_caller(options["organisation"], options["by"]),
            entries=_entries(options["file"]),
            secrets=_secrets(),
            read=cluster_wanted,
            is_dry_run=options["dry_run"],
            now=timezone.now(),
        )
        for each in results:
            self.stdout.write(f"{each['slug'] or '(no name)'}: {each['outcome']}: {each['text']}")
        refused = sum(each["outcome"] == "refused" for each in results)
        if refused:
            raise CommandError(f"{refused} of {len(results)} clusters were refused.")


def _secrets() -> dict[str, str]:
    """Only those that an export names: a file from elsewhere must not have Lifeguard's own secrets sent somewhere."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith("LIFEGUARD_") and name.endswith("_PASSWORD")
    }


def _entries(file: str) -> list[Any]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        return registry_yaml.load(text)
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error


def _caller(organisation: str, email: str) -> Caller:
    memberships = Membership.objects.select_related("organisation", "user")
    membership = memberships.filter(organisation__slug=organisation, user__email__iexact=email).first()
    if membership is None:
        raise CommandError(f"{email} is no member of {organisation}.")
    if membership.role != "admin":
        raise CommandError(f"{email} is {membership.role} of {organisation}; importing needs an admin.")
    return Caller(membership.user, membership.organisation, membership.role)
