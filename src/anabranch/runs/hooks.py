"""Runs a context's hooks around a run's steps, on record: one that fails before a step stops it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from anabranch.errors import AnabranchError, ExitCode

HOOK_RUN = "hook.run"
"""The action under which a hook is recorded, with how it ended."""


class HookFailedError(AnabranchError):
    code = "hook.failed"
    exit_code = ExitCode.GUARDED


@dataclass(frozen=True)
class HookResult:
    """How a hook ended."""

    exit_code: int | None
    """None: it did not start, or was killed after its timeout."""
    seconds: float
    words: str
    """How it ended, for people: "ended with exit code 3"."""
    last_lines: str = ""
    """Of its output. Shown, never recorded: it may contain what the hook was given."""

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0


class HookRunner(Protocol):
    def __call__(self, command: Sequence[str], variables: Mapping[str, str]) -> HookResult:
        """Run a command to its end or its timeout. Raises nothing for a command that fails."""


class HookRecord(Protocol):
    """Of a `RunWriter`."""

    def record_act(
        self, action: str, *, actor: str, run_id: str | None = None, details: Mapping[str, object] | None = None
    ) -> object: ...


@dataclass
class HookedStep:
    """A step of a run between its two hooks."""

    _before: Callable[[], None] = lambda: None
    _after: Callable[[str], None] = lambda _: None
    outcome: str = "failed"
    """What the hook after the step is told: `failed`, unless the step says otherwise."""
    _begun: bool = False

    def begin(self) -> None:
        """Run the hook before the step, once. Raises HookFailedError."""
        if not self._begun:
            self._begun = True
            self._before()

    def end(self) -> None:
        """Run the hook after the step if the one before it was run, whatever became of the step."""
        if self._begun:
            self._after(self.outcome)


@contextmanager
def no_hooks() -> Iterator[HookedStep]:
    yield HookedStep()


@dataclass(frozen=True)
class Hooks:
    """The hooks for one run. A hook may run again after a crash, so it has to be repeatable."""

    commands: Mapping[str, Sequence[str]]
    """By the name of the hook, such as `beforeReplay`."""
    run: HookRunner
    record: HookRecord
    run_id: str
    actor: str
    variables: Mapping[str, str]
    notice: Callable[[str], object]

    @contextmanager
    def around(self, step: str, state: str) -> Iterator[HookedStep]:
        """The hooks before and after `step`; `state` is what is said of production and the run if the first fails."""
        hooked = HookedStep(lambda: self.before(f"before{step}", state), lambda out: self.after(f"after{step}", out))
        try:
            yield hooked
        finally:
            hooked.end()

    def before(self, hook: str, state: str) -> None:
        """Run the hook, if there is one. Raises HookFailedError."""
        result = self._run(hook, {})
        if result is not None and not result.succeeded:
            lines = f". Last lines: {result.last_lines}" if result.last_lines else ""
            raise HookFailedError(
                f"Hook {hook} of run {self.run_id} {result.words}.",
                state=state,
                command=f"anabranch status {self.run_id}",
                hint=f"Fix the hook and repeat the command{lines}",
                hook=hook,
                hook_exit_code=result.exit_code,
            )

    def after(self, hook: str, outcome: str) -> None:
        """Run the hook, if there is one. A failure is shown and recorded: what the hook follows has happened. Raises
        nothing, or it would hide what ended the step."""
        try:
            result = self._run(hook, {"ANABRANCH_OUTCOME": outcome})
        except AnabranchError as error:
            self.notice(f"Hook {hook} was run and is not on record: {error.what}")
            return
        if result is not None and not result.succeeded:
            self.notice(f"Hook {hook} {result.words}. {result.last_lines}".strip())

    def _run(self, hook: str, further: Mapping[str, str]) -> HookResult | None:
        command = self.commands.get(hook)
        if command is None:
            return None
        result = self.run(command, {**self.variables, "ANABRANCH_HOOK": hook, **further})
        details = {"hook": hook, "program": command[0], "exit_code": result.exit_code, "ended": result.words}
        self.record.record_act(HOOK_RUN, actor=self.actor, run_id=self.run_id, details=details)
        return result
