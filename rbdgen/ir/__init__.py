"""The intermediate representation: graph, builder and tracer, formats, interpreters, text form."""
