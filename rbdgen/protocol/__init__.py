"""How tasks and results travel: words and beats of streams, packets, frames of the serial link, registers of AXI."""
