"""The `mosaic` command: one module per group; heavy imports only where they are used."""
