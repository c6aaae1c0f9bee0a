"""How a change reaches the cells, and what each step is judged by."""
