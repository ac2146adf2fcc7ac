"""What turns bids into rows."""
