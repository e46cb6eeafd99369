"""What a run did, for people: one HTML page, a comparison of runs, tables for the terminal."""
