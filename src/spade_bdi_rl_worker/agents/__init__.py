"""The agents of a run: a learner in this process, a coach and others beside it, one XMPP server."""
