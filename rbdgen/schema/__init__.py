"""The structure of the JSON files that are written here and read back: one schema for each, beside this file, and what
reads and checks a file by it."""
