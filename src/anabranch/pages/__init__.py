"""HTML and Markdown for people, from reports and records. Imports rooms; rooms don't import it."""
