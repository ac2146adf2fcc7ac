"""The switch of `anabranch pause --all` in the control database."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, delete, insert, select

from anabranch.adapters.sql import chain
from anabranch.adapters.sql.engine import reading, writing
from anabranch.adapters.sql.schema import replay_holds
from anabranch.adapters.sql.writer import Clock, database_time
from anabranch.replay.pause_all import PAUSED_ALL, RESUMED_ALL, AllPaused
from anabranch.runs.canonical import instant, instant_text


@dataclass(frozen=True)
class SqlPauseSwitch:
    """A `PauseSwitch` over one engine."""

    engine: Engine
    clock: Clock | None = None

    def read(self, context: str) -> AllPaused | None:
        query = select(replay_holds).where(replay_holds.c.context == context)
        with reading(self.engine) as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else AllPaused(row.actor, row.reason, instant(row.at))

    def pause(self, context: str, *, actor: str, reason: str) -> None:
        with writing(self.engine) as connection:
            now = database_time(connection, self.clock)
            details = {"context": context, "reason": reason}
            # First the record, whose lock lets two of these follow each other.
            chain.append(connection, now, actor=actor, action=PAUSED_ALL, details=details)
            connection.execute(delete(replay_holds).where(replay_holds.c.context == context))
            row = {"context": context, "actor": actor, "reason": reason, "at": instant_text(now)}
            connection.execute(insert(replay_holds).values(**row))

    def resume(self, context: str, *, actor: str, reason: str) -> bool:
        with writing(self.engine) as connection:
            now = database_time(connection, self.clock)
            details = {"context": context, "reason": reason}
            chain.append(connection, now, actor=actor, action=RESUMED_ALL, details=details)
            return bool(connection.execute(delete(replay_holds).where(replay_holds.c.context == context)).rowcount)
