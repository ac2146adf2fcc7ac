-- Passes if it returns no rows.
SELECT order_id, currency, amount
FROM staged
WHERE currency IN ('EUR', 'USD', 'GBP', 'CHF') AND amount_eur IS NULL
