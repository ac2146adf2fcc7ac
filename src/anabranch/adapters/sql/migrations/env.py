"""Alembic's entry: runs the scripts on the connection, and in the transaction, that it is handed."""

from alembic import context

from anabranch.adapters.sql.version import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
