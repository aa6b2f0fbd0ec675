"""Whether the query cache pays: its economics now, its measured break-even, and what to do about it."""
