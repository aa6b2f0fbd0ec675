"""`manage.py create_demo`: the demo's people; JSON in on stdin, JSON out. Secrets never stand on a command line."""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand
from django.urls import reverse
from django.utils import timezone

from apps.accounts.demo import ensure_demo


class Command(BaseCommand):
    help = "Make sure that the demo's organisation, administrator and API token exist; reads and prints JSON."

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = json.load(sys.stdin)
        account = ensure_demo(
            organisation=wanted["organisation"],
            email=wanted["email"],
            password=wanted["password"],
            known_token=wanted["api_token"],
            now=timezone.now(),
        )
        path = reverse("sign-in-link", kwargs={"key": account.sign_in_key})
        self.stdout.write(json.dumps({"api_token": account.api_token, "sign_in_path": path}))
