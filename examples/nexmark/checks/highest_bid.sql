-- Passes if it returns no rows: in ten minutes somebody bids more than 100 dollars.
SELECT window_start, auction, price FROM staged WHERE price <= 10000
