"""What each fact changes in a session: one module for each subject of facts. They decide nothing."""
