"""Snapshots of work trees under private refs: taken, compared, put back, thinned out."""
