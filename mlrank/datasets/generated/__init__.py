"""Generated data: stand-ins for sets that cannot be shipped, and classes in the plane."""
