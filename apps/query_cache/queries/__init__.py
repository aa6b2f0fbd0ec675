"""What pages and REST ask."""
