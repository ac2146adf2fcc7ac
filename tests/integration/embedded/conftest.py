from tests.fixtures.mount import mount

__all__ = ["mount"]
