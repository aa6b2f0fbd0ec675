"""Samples: appended by COPY, kept for 30 days in daily partitions, answered at a resolution. See each file."""

from apps.clusters.history.metrics import UnknownMetric
from apps.clusters.history.series import RangeTooSlow, SeriesAnswer, series
from apps.clusters.history.windows import InstanceWindow, window_counts

__all__ = ["InstanceWindow", "RangeTooSlow", "SeriesAnswer", "UnknownMetric", "series", "window_counts"]
