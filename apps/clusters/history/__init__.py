"""Samples: appended by COPY, kept for 30 days in daily partitions, answered at a resolution. See each file."""
