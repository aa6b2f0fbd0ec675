"""Every parameter of pgpool.conf, by version: 3.7 and 4.0 to 4.7.

The facts stand in one TOML file per group. Those of 4.3 are what the program itself holds (names, kinds, ranges,
defaults, contexts); the other versions follow from their manuals, release notes and PGPOOL SHOW ALL.
"""
