"""Where states are, and what is known to be worth what there: a map to look at and to choose on."""
