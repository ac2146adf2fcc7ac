-- Passes if it returns no rows.
SELECT bid, auction FROM staged WHERE auction % 13 <> 0
