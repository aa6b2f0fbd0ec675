"""What pages, charts and the REST interface ask: typed shapes; a page and its API share one function."""
