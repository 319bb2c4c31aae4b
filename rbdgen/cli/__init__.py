"""The command line: looks at every stage, is imported by none."""
