"""A review in the formats that people and machines read it in."""
