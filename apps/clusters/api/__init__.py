"""The REST doors of clusters: each translates in, makes one call, translates out."""
