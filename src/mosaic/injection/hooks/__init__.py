"""One module per library; each has `install(module, session)`, called after its import."""
