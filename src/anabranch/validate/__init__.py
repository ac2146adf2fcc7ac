"""Is it right: measures judged by one check a file in `checks/`, and a report. After `replay`, before `promote`."""
