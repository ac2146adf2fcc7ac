"""Iceberg by PyIceberg, with no JVM: planning facts, staging branches, promotion, rollback, the zone map."""
