"""The runbook of a run, as a page and as Markdown."""
