"""What a form asks for and what was entered. No Qt."""
