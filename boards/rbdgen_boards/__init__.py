"""Bitstreams for boards: a folder of data for each board, a flow for each family of devices."""
