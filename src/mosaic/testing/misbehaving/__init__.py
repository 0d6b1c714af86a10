"""Workers that do everything wrong, each a stand-alone program, to rehearse what must hold."""
