"""The `mosaic` command: `commands`, what they share, and `main`, which parses the line.

Heavy imports stand only where they are used: `mosaic --help` must stay quick.
"""
