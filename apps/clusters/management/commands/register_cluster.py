"""Registers a cluster from a JSON description, the same that POST /api/v1/clusters/ takes."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.accounts.access import Caller
from apps.accounts.models import Membership
from apps.clusters.registry.registration import RegistrationRefused, register


class Command(BaseCommand):
    help = "Register a cluster from a JSON description; it is asked live first, exactly as in the dashboard."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--organisation", required=True, metavar="SLUG")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the member who is recorded as its author")
        parser.add_argument("--json", required=True, metavar="FILE", help="the description; - reads standard input")

    def handle(self, **options: Any) -> None:
        # The reader of the REST interface is the one that knows every field.
        from apps.clusters.api.registration_inputs import ClusterInput

        form = ClusterInput(data=_description(options["json"]))
        if not form.is_valid():
            raise CommandError(f"This is no description of a cluster: {json.dumps(form.errors)}")
        try:
            cluster = register(
                caller=_caller(options["organisation"], options["by"]), wanted=form.wanted(), now=timezone.now()
            )
        except RegistrationRefused as error:
            refused = "\n".join(f"  {field}: {message}" for field, message in error.errors.items())
            raise CommandError(f"The cluster was not registered:\n{refused}") from error
        self.stdout.write(json.dumps({"slug": cluster.slug}))


def _description(file: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read as JSON: {error}") from error


def _caller(organisation: str, email: str) -> Caller:
    membership = (
        Membership.objects.select_related("organisation", "user")
        .filter(organisation__slug=organisation, user__email__iexact=email)
        .first()
    )
    if membership is None:
        raise CommandError(f"{email} is no member of {organisation}.")
    return Caller(membership.user, membership.organisation, membership.role)
