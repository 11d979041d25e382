"""The command line: parsing, rendering, exit statuses. Decides nothing."""
