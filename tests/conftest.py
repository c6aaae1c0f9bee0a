"""What holds for every test."""

import os

# xdist tells its workers how wide the terminal is; what commands print to no terminal is then cut at that.
os.environ.pop("COLUMNS", None)
