"""How pools follow demand: who owns which number, how far ahead, and within which bounds."""
