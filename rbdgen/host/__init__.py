"""The host's side of an accelerator: its manifest, its driver, and how that reaches it."""
