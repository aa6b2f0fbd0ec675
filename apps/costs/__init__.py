"""Costs: what a cluster costs in a year, cross-AZ replication included. Here will live dated price books, the measured
traffic of a cluster, the breakdown line by line, and scenarios compared side by side.
"""
