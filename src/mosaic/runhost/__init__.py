"""The run host: one small process per attempt that owns a worker and outlives the daemon.

    daemon ──spec on stdin──▶ run host ──fork──▶ worker ──fork──▶ its children
                              │ holds attempts/<n>/lock for life, creates claim once
                              │ pumps the worker's output into logs (and the journal)
                              │ answers on the control socket, enforces limits
                              └ sweeps every descendant, then writes exit.json

`launch.py` and what it imports run before the worker exists, so they avoid `dataclasses`,
`pathlib` and `typing`, which together cost more than the whole launch. The rest is imported
while the worker is already starting.
"""
