"""One module per command, or per family of commands, each with its view."""
