"""The functions that an accelerator can compute, one file for each or for a close family."""
