"""Hardware of the engine: lanes, memories, special unit, sequencer; nothing in it depends on a robot."""
