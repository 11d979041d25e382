"""The store in an SQL database: SQLite by default. `open.open_store` is the door, `quick` a fast one for listings."""
