"""What can be the host of a server: one name or address. libpq takes more, and means other things by it."""

from __future__ import annotations

import ipaddress
import re

# libpq takes a path for a socket of its own machine, and a comma for another host.
_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
ONE_HOST = "must be one name or address"


def host_problem(host: str) -> str:
    """What would be right instead of what was typed as a host; "" where it can be one."""
    if host.startswith("["):
        return f"{ONE_HOST}; leave out the brackets, and give the port in its own field"
    if ":" not in host:
        return "" if _NAME.fullmatch(host) else ONE_HOST
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return f"{ONE_HOST}, and {host} is no address of IPv6; give the port in its own field"
    # A zone belongs to a link, and nobody may point Lifeguard at addresses of links.
    return ONE_HOST if "%" in host else ""
