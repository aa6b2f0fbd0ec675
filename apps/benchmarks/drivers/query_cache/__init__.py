"""The calibration of a query cache: scratch pgpools side by side, asked in turns."""
