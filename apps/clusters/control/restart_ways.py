"""How one pgpool is restarted: by a command that the installation allows, by the script on its host, or by hand."""

from dataclasses import dataclass

from apps.clusters.models import PgpoolInstance, RestartStep
from apps.clusters.outside.delivery import restart
from apps.clusters.outside.delivery.restart import CommandEnded, RestartNotBegun
from apps.clusters.registry.restart_commands import AllowedCommand, allowed_commands
from apps.clusters.registry.ssh_accounts import ssh_file_of

Way = RestartStep.Way
Delivery = PgpoolInstance.Delivery


@dataclass(frozen=True)
class ChosenWay:
    """why_by_hand: a sentence, "" where Lifeguard restarts it. says: what that is, for receipts."""

    way: RestartStep.Way
    says: str
    why_by_hand: str = ""


def way_of(instance: PgpoolInstance) -> ChosenWay:
    """Of an instance whose cluster's organisation is loaded."""
    if instance.delivery_kind == Delivery.SSH and instance.restart_command:
        return ChosenWay(Way.SCRIPT, f"the restart program on {instance.ssh_host}")
    if instance.delivery_kind == Delivery.LOCAL and instance.restart_command:
        if _allowed(instance) is not None:
            return ChosenWay(Way.COMMAND, f"the command {instance.restart_command}")
        return _by_hand(f"the installation no longer allows the command {instance.restart_command}")
    if instance.delivery_kind == Delivery.MANUAL:
        return _by_hand("its file is delivered by hand, and so it is restarted")
    return _by_hand("no restart command is chosen for it in Settings")


def _by_hand(why: str) -> ChosenWay:
    return ChosenWay(Way.HAND, "by hand", why)


def _allowed(instance: PgpoolInstance) -> AllowedCommand | None:
    return allowed_commands(instance.cluster.organisation.slug).get(instance.restart_command)


def carry_out(instance: PgpoolInstance, way: str) -> CommandEnded:
    """Restart it now. Asks no database: it may run in a thread. Raises RestartNotBegun, or SshFailed."""
    if way == Way.SCRIPT:
        return ssh_file_of(instance).restart()
    command = _allowed(instance)
    if command is None or instance.delivery_target is None:
        raise RestartNotBegun(f"the installation no longer allows the command {instance.restart_command!r}")
    return restart.run(command.argv, path=instance.delivery_target)
