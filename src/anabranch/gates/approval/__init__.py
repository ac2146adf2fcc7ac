"""Approvals and their validity, and the roles of users."""
