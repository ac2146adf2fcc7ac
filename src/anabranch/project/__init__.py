"""`anabranch.yaml`: contexts, settings, secrets by reference. Imports only `errors`."""
