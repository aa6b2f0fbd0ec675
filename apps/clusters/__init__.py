"""Clusters: registered Pgpool-II clusters, watched, judged and changed."""
