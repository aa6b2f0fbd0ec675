"""Prints a one-time sign-in link."""

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.sign_in_links import LIFETIME, create_link


class Command(BaseCommand):
    help = "Print a link that signs somebody in once, within 15 minutes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--email", required=True)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        user = User.objects.filter(email__iexact=options["email"], is_active=True).first()
        if user is None:
            raise CommandError(f"Nobody with the address {options['email']} can sign in.")
        now = timezone.now()
        url = settings.PUBLIC_URL + reverse("sign-in-link", args=[create_link(user=user, now=now)])
        if options["json"]:
            shown = {"url": url, "email": user.email, "expires_at": (now + LIFETIME).isoformat()}
            self.stdout.write(json.dumps(shown))
        else:
            self.stdout.write(url)
