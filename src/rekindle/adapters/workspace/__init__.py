"""A repository with its journals, opened around a folder."""
