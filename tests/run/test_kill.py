"""SIGKILL at any moment, then resume: the same bits as a run that nobody stopped, and a ledger of all that was sent."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("kill_at_every_write.py")


def test_a_run_killed_before_any_of_its_writes_ends_in_the_same_files(tmp_path):
    done = subprocess.run([sys.executable, SCRIPT, tmp_path, "9"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20
