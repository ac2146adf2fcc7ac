-- The hottest item of each window, several if they had as many bids. For whatever engine reads the table.
SELECT window_start, window_end, auction, bids
FROM (
  SELECT *, rank() OVER (PARTITION BY window_start ORDER BY bids DESC) AS place
  FROM nexmark.hot_items
)
WHERE place = 1
