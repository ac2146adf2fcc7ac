"""The run store on SQLite or PostgreSQL."""
