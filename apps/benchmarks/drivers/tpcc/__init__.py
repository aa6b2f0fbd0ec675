"""The TPC-C-like load: its tables, its transactions as functions of the server, and what must hold of them."""
