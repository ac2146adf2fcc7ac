-- Passes if it returns no rows: counting the bids that were left out makes no count smaller.
SELECT window_start, auction, base.bids AS before, staged.bids AS after
FROM base LEFT JOIN staged USING (window_start, auction)
WHERE staged.bids IS NULL OR staged.bids < base.bids
