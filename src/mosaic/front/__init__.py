"""What every front end shares: choosing from catalogues, asking for runs, words for them."""
