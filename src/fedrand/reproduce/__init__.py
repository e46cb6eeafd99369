"""The paper's tables and figures, each by one command, beside the paper's own numbers."""
