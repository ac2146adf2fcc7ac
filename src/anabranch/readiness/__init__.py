"""Before anything is wrong: rehearsal, drill, retention, advice. Uses the rooms; no room imports it."""
