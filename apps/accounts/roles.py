"""What members may do. Each role may do all that the ones before it may."""

from django.db import models


class Role(models.TextChoices):
    VIEWER = "viewer", "viewer"  # sees everything, changes nothing
    OPERATOR = "operator", "operator"  # changes weights, rolls out and back
    ADMIN = "admin", "admin"  # registers and removes clusters, makes tokens, manages members


def reaches(role: str, wanted: str) -> bool:
    """Whether a member with this role may do what the wanted role may."""
    order = [each.value for each in Role]
    return order.index(role) >= order.index(wanted)
