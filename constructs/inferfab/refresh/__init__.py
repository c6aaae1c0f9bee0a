"""Newer prices and instance facts for the catalog: read, compared, shown, and written only when told to."""
