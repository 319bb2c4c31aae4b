"""Reports of a design: the JSON report, the manifest, the resolved configuration, and tables for people."""
