"""Makes an API token."""

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.accounts.access import Caller
from apps.accounts.models import ApiToken, Membership
from apps.accounts.tokens import TokenRefused, create_token


class Command(BaseCommand):
    help = "Make an API token that acts as a member; it is printed once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--email", required=True)
        parser.add_argument("--organisation", required=True, metavar="SLUG")
        parser.add_argument("--name", required=True, help="what will use it")
        parser.add_argument("--scope", default="read", choices=ApiToken.Scope.values)
        parser.add_argument("--days", type=int, default=90, help="how long it works, at most 365")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        membership = (
            Membership.objects.select_related("user", "organisation")
            .filter(user__email__iexact=options["email"], organisation__slug=options["organisation"])
            .first()
        )
        if membership is None:
            raise CommandError(f"{options['email']} is no member of {options['organisation']}.")
        now = timezone.now()
        try:
            token, secret = create_token(
                caller=Caller(membership.user, membership.organisation, membership.role),
                name=options["name"],
                scope=options["scope"],
                expires_at=now + timedelta(days=options["days"]),
                now=now,
            )
        except TokenRefused as error:
            raise CommandError(f"--days: the expiry {error.reason}.") from error
        if options["json"]:
            shown = {"token": secret, "scope": token.scope, "expires_at": token.expires_at.isoformat()}
            self.stdout.write(json.dumps(shown))
        else:
            self.stdout.write(secret)
