"""How fast one worker is: profiles with the origin of every point: shipped, imported, made, or a roofline."""
