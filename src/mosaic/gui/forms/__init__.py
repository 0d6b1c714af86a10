"""SchemaForm: every form of the workbench, drawn from a list of fields."""
