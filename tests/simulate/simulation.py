"""One story: the actions that happen on a stage, one after the other."""

from __future__ import annotations

from tests.simulate.actions import Action
from tests.simulate.governed_actions import GovernedActions
from tests.simulate.job_actions import JobActions
from tests.simulate.plan_actions import PlanActions

#: So much time passes at most behind an action while the disk does not work.
_SICK = 12.0


class Simulation(GovernedActions, JobActions, PlanActions):
    """Carries out actions: what each does is a method `do_` of its name."""

    def step(self, action: Action) -> None:
        """Do it, and let the time behind it pass."""
        self.steps += 1
        self.tell(f"* {action.words}")
        getattr(self, f"do_{action.kind}")(action)
        # nothing new happens while nothing can be written down
        self.time.run(min(action.pause, _SICK) if self.world.is_full or self.world.syncs == "failing" else action.pause)
        self.clear_up()


def heal(simulation: Simulation) -> None:
    """Everything that is broken in the world is mended."""
    world = simulation.world
    world.worktrees.set_full(False)
    world.post_seconds = 0.0
    world.limit_ends, world.is_sick = 0.0, False
    world.is_full, world.syncs, world.obstacle, world.model, world.failing_starts = False, "fast", None, None, 0
    if simulation.frozen is not None:
        simulation.do_thaw_daemon(Action("thaw_daemon"))
