"""How a delivery stands in the row of its pgpool, and how that row is read as what somebody wanted."""

from __future__ import annotations

from typing import Any

from apps.clusters.models import PgpoolInstance, PublishedFile
from apps.clusters.outside.delivery.outcomes import sha256_of
from apps.clusters.outside.delivery.ssh_keys import fingerprint
from apps.clusters.registry.cluster_wanted import DEFAULT_WAIT_H, DeliveryWanted, PgpoolWanted, SshWanted
from apps.clusters.registry.delivery_claims import Claim

Delivery = PgpoolInstance.Delivery


def columns(wanted: PgpoolWanted, claim: Claim | None) -> dict[str, Any]:
    """What belongs to another way of delivery is emptied."""
    delivery = wanted.delivery
    is_ssh, is_manual = delivery.kind == Delivery.SSH, delivery.kind == Delivery.MANUAL
    ssh = delivery.ssh if is_ssh else SshWanted()
    return {
        "delivery_kind": delivery.kind,
        "delivery_path": delivery.path,
        "delivery_target": None if claim is None else claim.target,
        "ssh_host": (ssh.host or wanted.host) if is_ssh else "",
        "ssh_port": ssh.port,
        "ssh_username": ssh.username,
        "ssh_host_key": claim.host_key if is_ssh and claim is not None else "",
        "has_sudo": ssh.has_sudo,
        "longest_wait_h": delivery.wait_h if is_manual else DEFAULT_WAIT_H,
        "restart_command": delivery.restart,
    }


def publish_given(instance: PgpoolInstance, delivery: DeliveryWanted) -> None:
    """The file that was given with a delivery by hand is the first that is published; other ways publish none."""
    if delivery.kind != Delivery.MANUAL:
        PublishedFile.objects.filter(instance=instance).delete()
        return
    given = {"text": delivery.text, "sha256": sha256_of(delivery.text.encode())}
    PublishedFile.objects.update_or_create(instance=instance, defaults=given)


def delivery_of_row(instance: PgpoolInstance) -> DeliveryWanted:
    ssh = SshWanted(
        host=instance.ssh_host,
        port=instance.ssh_port,
        username=instance.ssh_username,
        host_key=fingerprint(instance.ssh_host_key) if instance.ssh_host_key else "",
        has_sudo=instance.has_sudo,
    )
    return DeliveryWanted(
        instance.delivery_kind,
        instance.delivery_path,
        ssh,
        _published_text(instance),
        instance.longest_wait_h,
        instance.restart_command,
    )


def _published_text(instance: PgpoolInstance) -> str:
    if instance.delivery_kind != Delivery.MANUAL:
        return ""
    published = PublishedFile.objects.filter(instance=instance).first()
    return "" if published is None else published.text


def described_delivery(instance: PgpoolInstance) -> dict[str, Any]:
    """For the audit trail and for REST: no key and no text."""
    described: dict[str, Any] = {"kind": instance.delivery_kind, "path": instance.delivery_path}
    if instance.delivery_kind == Delivery.SSH:
        described |= {
            "host": instance.ssh_host,
            "port": instance.ssh_port,
            "user": instance.ssh_username,
            "host_key": fingerprint(instance.ssh_host_key),
            "sudo": instance.has_sudo,
        }
    if instance.delivery_kind == Delivery.MANUAL:
        described["wait_h"] = instance.longest_wait_h
    if instance.restart_command:
        described["restart"] = instance.restart_command
    return described
