"""History into staging, slice by slice, within limits, with a ledger of every offset. After `gates`."""
