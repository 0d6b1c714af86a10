"""What somebody sees who has no runs yet."""
