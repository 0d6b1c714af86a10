"""A run's store: its tables, the rows a journal becomes, and reading them."""
