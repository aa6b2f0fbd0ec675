"""Making organisations and members. For now only operators of the installation do, by management commands."""

from dataclasses import dataclass

from django.contrib.auth.password_validation import validate_password
from django.db import transaction

from apps.accounts import audit
from apps.accounts.models import Membership, Organisation, User
from apps.accounts.roles import Role, reaches

FEW = 5


@dataclass(frozen=True)
class MemberMade:
    membership: Membership
    is_new_user: bool
    is_new_member: bool


@transaction.atomic
def create_organisation(*, slug: str, name: str) -> Organisation:
    """The organisation with this slug, made if there is none."""
    organisation, is_new = Organisation.objects.get_or_create(slug=slug, defaults={"name": name})
    if is_new:
        audit.record_command(
            organisation=organisation,
            action="organisation.created",
            target_type="organisation",
            target_id=organisation.pk,
            target_name=organisation.name,
        )
    return organisation


@transaction.atomic
def create_member(*, organisation: Organisation, email: str, role: str, password: str | None) -> MemberMade:
    """Make somebody a member in this role; whoever is one already gets the role, and the password if one is given.

    Raises django.core.exceptions.ValidationError for a password that is too weak.
    """
    user = User.objects.select_for_update().filter(email__iexact=email.strip()).first()
    is_new_user = user is None
    if user is None:
        user = User(email=email.strip().lower())
    if password is not None:
        validate_password(password, user)
        user.set_password(password)
    elif is_new_user:
        user.set_unusable_password()
    user.save()
    earlier = Membership.objects.filter(organisation=organisation, user=user).values_list("role", flat=True).first()
    membership, is_new_member = Membership.objects.update_or_create(
        organisation=organisation, user=user, defaults={"role": role}
    )
    audit.record_command(
        organisation=organisation,
        action="member.added" if is_new_member else "member.changed",
        target_type="member",
        target_id=user.pk,
        target_name=user.email,
        before=None if earlier is None else {"role": earlier},
        after={"role": role, "password_set": password is not None},
    )
    return MemberMade(membership, is_new_user, is_new_member)


def who_may(*, organisation: Organisation, role: str) -> list[str]:
    """E-mails of a few who may do what the role may: whom somebody can ask who may not."""
    able = [held for held in Role.values if reaches(held, role)]
    found = Membership.objects.filter(organisation=organisation, role__in=able, user__is_active=True)
    return list(found.order_by("user__email").values_list("user__email", flat=True)[:FEW])
