"""Random robots, files, bytes and streams: whatever comes, an answer that is right or an error of ours in a line.

The test suite takes a few examples of each, the same every time. ``make fuzz`` takes many more, for as
long as it is told.
"""
