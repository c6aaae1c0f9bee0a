"""The input: one typed environment file, read with line numbers kept."""
