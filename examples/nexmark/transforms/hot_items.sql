-- Query 5: how many bids each auction got in the hour of each window. Which of them is the hottest is a second
-- aggregation over the first, which a stream can't do in one step: queries/hottest.sql picks it from the table.
SELECT _window.start AS window_start, _window.end AS window_end, auction, bids, _window
FROM (
  SELECT window(_event_time, '1 hour', '30 minutes') AS _window, auction, count(*) AS bids
  FROM events
  GROUP BY window(_event_time, '1 hour', '30 minutes'), auction
)
