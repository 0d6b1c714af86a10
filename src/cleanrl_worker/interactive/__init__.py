"""Interactive mode: an environment driven by JSON lines, with a person or a policy acting.

In:  {"cmd": "reset", "seed": 1}, {"cmd": "step"}, {"cmd": "step", "action": 0}, ping, stop
Out: {"type": "init"}, then ready, step, episode_done, pong, error, and stopped at the end
"""
