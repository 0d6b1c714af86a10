"""What the window around the panels decides: sizes, words, what the palette finds. No Qt."""
