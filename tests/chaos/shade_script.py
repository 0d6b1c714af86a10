"""A user's script: steps some environments so often, in processes of their own or in this one.

python -m tests.chaos.shade_script STEPS ENVIRONMENTS
"""

from __future__ import annotations

import sys

import gymnasium

from tests.chaos.shade_environment import ENV_ID


def main() -> None:
    steps, count = (int(word) for word in sys.argv[1:3])
    if count == 1:
        env = gymnasium.make(ENV_ID, render_mode="rgb_array")
        env.reset(seed=1)
        for _ in range(steps):
            if env.step(0)[2]:
                env.reset()
        env.close()
    else:
        envs = gymnasium.make_vec(ENV_ID, count, "async", vector_kwargs={"daemon": True})
        envs.reset(seed=1)
        for _ in range(steps):
            envs.step([0] * count)
        envs.close()
    print("stepped", steps, flush=True)


if __name__ == "__main__":
    main()
