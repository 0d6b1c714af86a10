"""What somebody else wrote (workers, scripts, archives), read without harm to the reader."""
