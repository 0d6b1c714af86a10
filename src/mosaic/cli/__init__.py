"""The `mosaic` command: one module per group of commands, heavy imports only where they are used."""
