"""Speed, always as a ratio of two things measured alternately in one run. ``make bench`` prints the table."""
