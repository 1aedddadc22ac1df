"""Documents, and the program that writes the generated ones."""
