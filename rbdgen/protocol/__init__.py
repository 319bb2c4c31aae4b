"""The travel of tasks and results: words and beats of streams, packets, frames of the serial link, registers of AXI."""
