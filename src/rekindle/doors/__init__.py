"""Ways in. A door translates and renders; it decides nothing."""
