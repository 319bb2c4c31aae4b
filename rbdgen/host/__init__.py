"""What runs beside the accelerator: the format of tasks and results."""
