"""Forms of the pages that register a cluster and change what is registered."""
