"""The report: what was asked, done, cut off, resumed and spent in some time, and what proves each line. Pure."""
