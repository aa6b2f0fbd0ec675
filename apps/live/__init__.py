"""Live: tells open pages what has changed, over one websocket per page. Knows no other application."""
