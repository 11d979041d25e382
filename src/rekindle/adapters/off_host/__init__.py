"""Sessions off their host: `shipping` copies what is new, `bringing` puts it in place on another."""
