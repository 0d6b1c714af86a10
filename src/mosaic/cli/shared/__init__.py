"""What commands share: the terminal, the client, numbers, submitting and following runs."""
