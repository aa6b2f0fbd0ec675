"""Makes a bare Debian machine able to run Lifeguard. Standard library only: it runs before anything is installed."""
