-- One SELECT over `events`: the decoded columns, and _topic, _partition, _offset, _timestamp, _key, _headers.
SELECT
  payment_id,
  order_id,
  CAST(amount_cents / 100 AS DECIMAL(18, 2)) AS amount,
  TIMESTAMP_MILLIS(paid_at) AS paid_at,
  _partition, _offset -- carried through, so that the ledger can say what became of every event
FROM events
WHERE status = 'settled'
