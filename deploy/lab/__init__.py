"""A real PostgreSQL and Pgpool-II cluster on loopback, for the demo, the tests and for trying out faults."""

from deploy.lab.lab import Lab, LabIsDown
from deploy.lab.plan import ServerStatus

__all__ = ["Lab", "LabIsDown", "ServerStatus"]
