"""What an adversary could learn from a run, measured on its transcript."""
