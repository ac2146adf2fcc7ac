-- Passes if it returns no rows: the euro stood between 0.90 and 0.92 that day.
SELECT bid, price, price_eur FROM staged WHERE price_eur NOT BETWEEN price * 0.90 AND price * 0.92
