"""Interactive mode: an environment driven by JSON lines, with a person or a policy acting.

In lock-step:
In:  {"cmd": "reset", "seed": 1}, {"cmd": "step"}, {"cmd": "step", "action": 0}, ping, stop
Out: {"type": "init"}, then ready, step, episode_done, pong, error, and stopped at the end

In real time, after {"cmd": "play", "fps": 30, "controller": "human"}; the steps are seen in the
live view and the journal, not on stdout:
In:  {"cmd": "action", "action": 1} (held from now on; null: nothing), {"cmd": "controller",
     "value": "policy"}, pause, go, step, {"cmd": "speed", "value": 2}, {"cmd": "reset"}, stop
"""
