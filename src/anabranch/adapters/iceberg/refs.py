"""Names of a run's branches and tags, and conversion of heads to snapshot ids. Only this module does both."""

from __future__ import annotations

import re

from anabranch.runs.heads import Head


def head_of(snapshot: int) -> Head:
    return Head(str(snapshot))


def snapshot_of(head: Head) -> int:
    return int(head)


def staging_branch(run: str, epoch: int, *, control: bool = False) -> str:
    return f"ab_{run}_control_e{epoch}" if control else f"ab_{run}_e{epoch}"


def staging_epoch(branch: str, run: str, *, control: bool = False) -> int | None:
    """The epoch whose staging of the run, or of its control, this branch is. None: it is another branch."""
    found = re.fullmatch(rf"{re.escape(staging_branch(run, 0, control=control).removesuffix('0'))}(\d+)", branch)
    return None if found is None else int(found[1])


def scratch_branch(run: str, epoch: int) -> str:
    """Branch for rows that a rollback has to rewrite; one per epoch, so that no other process writes to it."""
    return f"ab_{run}_scratch_e{epoch}"


def rehearsal_branch(name: str) -> str:
    return f"ab_{name}_rehearsal"


def before_tag(run: str) -> str:
    """Tag of main's head before the promotion."""
    return f"ab_{run}_before"


def after_tag(run: str) -> str:
    """Tag of the promotion's snapshot."""
    return f"ab_{run}_after"


def pause_tag(run: str, until: int) -> str:
    """Tag by which a promotion requests that live pauses until this Unix time."""
    return f"ab_{run}_pause_{until}"


def is_pause_tag(ref: str, run: str) -> bool:
    return ref.startswith(f"ab_{run}_pause_")


def paused_until(ref: str) -> int | None:
    """The Unix time until which this tag requests that live pauses. None: it is another ref."""
    found = re.fullmatch(r"ab_.+_pause_(\d+)", ref)
    return None if found is None else int(found[1])


def is_of_run(ref: str, run: str) -> bool:
    return ref.startswith(f"ab_{run}_")
