"""The live page without Qt: what it shows and says, and where tiles lie."""
