"""What each fact changes in a session: one module for each thing that facts are about. They decide nothing."""
