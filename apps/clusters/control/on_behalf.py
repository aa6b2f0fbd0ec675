"""Acting without a person, in the name of one: nothing happens that they could not do themselves today."""

from apps.accounts.access import Caller
from apps.accounts.models import Membership, User
from apps.accounts.roles import Role
from apps.clusters.models import Cluster


def operator(user: User | None, cluster: Cluster) -> Caller | None:
    """The person as what they may do in this organisation; None if they may not operate it any more."""
    members = Membership.objects.filter(organisation=cluster.organisation, user__is_active=True)
    member = members.select_related("user", "organisation").filter(user=user).first()
    if member is None:
        return None
    caller = Caller(member.user, member.organisation, member.role)
    return caller if caller.may(Role.OPERATOR) else None
