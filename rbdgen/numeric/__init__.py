"""Float64 evaluation of the algorithms' texts over batches of states, and the checks of what they are given."""
