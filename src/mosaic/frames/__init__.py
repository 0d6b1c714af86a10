"""What turns the pictures of a run into something visible: terminal, PNG, MP4. Standard library."""
