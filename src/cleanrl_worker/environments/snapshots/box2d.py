"""Box2DSnapshots: replays in a world of their own, since an old world leaves traces in the new."""

from __future__ import annotations

from cleanrl_worker.environments.snapshots.replay import ReplaySnapshots


class Box2DSnapshots(ReplaySnapshots):
    """BipedalWalker and CarRacing empty their world at a reset and fill it again. What Box2D keeps
    of the old bodies changes the order in which it solves contacts, so that an episode depended on
    all those before it. In a new world it depends on its beginning and its actions only;
    LunarLander already does so itself.
    """

    def before_reset(self, seed: int | None) -> None:
        task = self._env.unwrapped
        task._destroy()
        task.world = type(task.world)(gravity=task.world.gravity)
        super().before_reset(seed)
