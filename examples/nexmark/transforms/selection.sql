-- Query 2: the bids on every thirteenth auction.
SELECT bid, auction, bidder, price, _event_time AS bid_at, _partition, _offset
FROM events
WHERE auction % 13 = 0
