"""Programs that show and measure rekindle from the outside: nothing in the product imports them."""
