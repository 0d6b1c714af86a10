"""Workers that misbehave, each a stand-alone program, to test what must hold regardless."""
