"""What comes back of each kind of value: the support table, and versions of libraries in pairs."""
