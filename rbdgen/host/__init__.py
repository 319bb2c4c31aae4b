"""What runs beside the accelerator: its manifest, its driver, and how that reaches it."""
