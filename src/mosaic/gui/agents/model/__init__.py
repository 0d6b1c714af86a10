"""The agents of a run without Qt: their minds, the rows that show them, what can be told them."""
