"""Traffic: traces read in bounded memory, profiles fitted to them, requests drawn from profiles."""
