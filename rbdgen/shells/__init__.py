"""Models of boards' shells, in this process and without time: what a host's bytes and datagrams meet."""
