"""RunBus: live events of runs, fanned out to subscribers, each at the pace of its credits."""
