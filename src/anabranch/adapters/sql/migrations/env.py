"""Alembic's entry point: runs the scripts on the given connection, in its transaction."""

from alembic import context

from anabranch.adapters.sql.version import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
