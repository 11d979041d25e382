"""What people do about a feature: they run its plan, resume it, stop it, and meddle with its git."""

from __future__ import annotations

from typing import Literal, cast

from rekindle.app.requests import FeatureResumeRequest, PlanRequest
from tests.simulate.actions import Action
from tests.simulate.house import Request
from tests.simulate.plans import FEATURE, StoryPlan
from tests.simulate.stage import Client, Stage
from tests.simulate.worktrees import SimulatedWorkspace


class PlanActions(Stage):
    """There is one feature, in one repository."""

    def do_plan(self, action: Action) -> None:
        self.world.has_plans = True
        self.plan = self.plan or StoryPlan.of(action.arg)  # whoever runs one later runs the same one again
        asked = PlanRequest(cwd="/repo", plan=self.plan.toml(), name="plan.toml", env={}, permission="ask")
        request = Request("plan", lambda house: house.features.begin(asked))
        self.ask(self.clients[action.client], "plan", "", request)

    def do_plan_resume(self, action: Action) -> None:
        self.resume_plan(self.clients[action.client], action.arg)

    def do_plan_twice(self, action: Action) -> None:
        for client in self.clients:
            self.resume_plan(client, action.arg)

    def resume_plan(self, client: Client, choice: str, *, with_plan: bool = False) -> Request:
        """A client resumes the feature, with an answer to what that may ask, and with the plan file if that is lost."""
        told = cast(Literal["A", "B", "C"], choice) if choice else None
        words = "do it well" if choice == "C" else ""
        plan = self.plan.toml() if with_plan and self.plan is not None else None
        asked = FeatureResumeRequest(
            cwd="/repo", feature=FEATURE, env={}, choice=told, instructions=words, plan=plan, name="plan.toml"
        )
        request = Request("plan_resume", lambda house: house.features.resume(asked))
        self.before_resume(choice, request)
        return self.ask(client, "plan_resume", choice, request)

    def reader(self) -> SimulatedWorkspace:
        """The repository, as somebody at a terminal opens it."""
        return SimulatedWorkspace(self.world.worktrees, 0)

    def do_plan_stop(self, action: Action) -> None:
        request = Request("plan_stop", lambda house: house.features.stop(cwd="/repo", feature=FEATURE))
        self.ask(self.clients[action.client], "plan_stop", "", request)

    def do_meddle(self, action: Action) -> None:
        self.meddled = True
        self.on_meddling()
        self.world.worktrees.meddle(action.arg, action.who)

    def do_kill_task(self, action: Action) -> None:
        live = [name for (name, _), one in self.world.attempts.items() if one.alive and name not in self.sessions]
        if live:
            self.world.kill(live[action.who % len(live)])

    def do_post(self, action: Action) -> None:
        self.world.post_seconds = 20.0 if action.arg == "late" else 0.0
