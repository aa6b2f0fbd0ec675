"""Fleet: the overview over all clusters of an organisation. Composes reads of other applications, owns no table."""
