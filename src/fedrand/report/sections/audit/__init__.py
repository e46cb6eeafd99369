"""The parts of what an audit found, one file each: the audit in, markup out; a part that was not run is None."""
