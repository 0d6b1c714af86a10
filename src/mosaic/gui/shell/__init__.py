"""The window around the panels: docks, menus, palette of commands, snackbar."""
