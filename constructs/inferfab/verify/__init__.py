"""Whether what runs is what was planned, asked of a live cluster. Nothing in it is ever changed."""
