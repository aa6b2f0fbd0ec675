"""Stops all writes to all pgpools of the installation, or of one organisation, and allows them again."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.clusters.control import writes_switch
from apps.clusters.queries.writes import SwitchAnswer, installation_answer, writes_answer


class Command(BaseCommand):
    help = "Stop all writes to all pgpools at once, allow them again, or show how it stands."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["stop", "allow", "show"])
        parser.add_argument("--organisation", metavar="SLUG", help="of this one only; of the whole installation unless")
        parser.add_argument("--reason", default="", help="shown on every page while writes are stopped")

    def handle(self, **options: Any) -> None:
        slug, reason, now = options["organisation"], options["reason"], timezone.now()
        organisation = Organisation.objects.filter(slug=slug).first() if slug is not None else None
        if slug is not None and organisation is None:
            raise CommandError(f"There is no organisation {slug}.")
        if len(reason) > writes_switch.LONGEST_REASON:
            raise CommandError(f"--reason: {len(reason)} characters; at most {writes_switch.LONGEST_REASON}.")
        if options["action"] == "allow":
            writes_switch.allow_by_command(organisation=organisation, reason=reason, now=now)
        elif options["action"] == "stop":
            left = writes_switch.stop_by_command(organisation=organisation, reason=reason, now=now)
            self.stdout.write("No write is under way any more." if left == 0 else f"Still finishing: {left}.")
        switch = writes_answer(organisation=organisation)["organisation"] if organisation else installation_answer()
        self.stdout.write(_shown(switch, organisation))


def _shown(switch: SwitchAnswer, organisation: Organisation | None) -> str:
    whose = "the whole installation" if organisation is None else organisation.name
    state = "allowed" if switch["allowed"] else "stopped"
    if switch["by"] is None or switch["at"] is None:
        return f"Writes of {whose} are {state}."
    since = f"by {switch['by']} since {switch['at']:%Y-%m-%d %H:%M} UTC"
    return f"Writes of {whose} are {state}, {since}. {switch['reason']}".rstrip()
