"""A tensor file is whole, or refused by name; a file is the old one or the new one."""

import errno
import os
import stat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.numpy import save_file

from fedrand.lines import Lines
from fedrand.params import Key
from fedrand.tensorfile import (
    TensorFileError,
    from_bytes,
    read_tensors,
    to_bytes,
    whole_folder,
    write_atomic,
    write_tensors,
)
from small_world import LOW_A, LOW_B, constant

HEADER = {"client": "ann", "num_examples": 17, "round": 3}
DATA = to_bytes(constant(0.25), HEADER)

tensors = arrays.arrays(
    st.sampled_from([np.float16, np.float32, np.float64]), arrays.array_shapes(min_dims=0, min_side=0, max_side=4)
)
keys = st.builds(Key, st.text("abc.0_", min_size=1), st.sampled_from(["A", "B", "A2"]))
headers = st.dictionaries(st.text(max_size=8).filter(lambda name: name != "sha256"), st.text(max_size=8), max_size=4)


@given(params=st.dictionaries(keys, tensors, max_size=4), header=headers)
def test_tensors_come_back_bit_for_bit(params, header):
    back, said = from_bytes(to_bytes(params, header))
    assert said == header
    assert back.keys() == params.keys()
    for key, value in params.items():
        assert (back[key].dtype, back[key].shape) == (value.dtype, value.shape)
        assert back[key].tobytes() == value.tobytes()


def test_the_same_tensors_give_the_same_bytes_in_any_order():
    backwards = dict(reversed(constant(0.25).items()))
    assert {to_bytes(backwards, dict(reversed(HEADER.items()))) for _ in range(20)} == {DATA}


def test_what_is_no_contiguous_array_is_written_as_it_reads():
    turned = np.arange(6, dtype=np.float32).reshape(2, 3).T
    back, _ = from_bytes(to_bytes({LOW_B: turned}, {}))
    assert np.array_equal(back[LOW_B], turned)


def test_any_safetensors_reader_reads_it(tmp_path):
    from safetensors import safe_open

    write_tensors(tmp_path / "x.safetensors", constant(0.25), HEADER)
    with safe_open(tmp_path / "x.safetensors", "np") as file:
        assert file.metadata().items() >= {"client": "ann", "num_examples": "17", "round": "3"}.items()
        assert file.get_tensor("layers.0.q_proj.A").tolist() == [[0.25] * 3] * 2


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100, len(DATA) // 2, len(DATA) - 1])
def test_cut_bytes_are_refused_by_name(length):
    with pytest.raises(TensorFileError, match=r"upload of ann is not a whole tensor file \(.*\); delete it or"):
        from_bytes(DATA[:length], "upload of ann")


@given(place=st.integers(0, len(DATA) - 1), change=st.integers(1, 255))
def test_an_altered_byte_is_refused_by_name(place, change):
    altered = bytearray(DATA)
    altered[place] ^= change
    with pytest.raises(TensorFileError, match="upload of ann"):
        from_bytes(bytes(altered), "upload of ann")


def test_a_file_without_a_checksum_is_refused():
    from safetensors.numpy import save

    with pytest.raises(TensorFileError, match="its checksum does not fit"):
        from_bytes(save({"layers.0.A": np.zeros(2, np.float32)}, metadata={"round": "3"}))


def test_a_cut_file_is_refused_by_its_path(tmp_path):
    path = tmp_path / "state.safetensors"
    write_tensors(path, constant(0.25), HEADER)
    assert read_tensors(path)[1]["round"] == "3"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(TensorFileError, match=r"state\.safetensors is not a whole tensor file"):
        read_tensors(path)


@pytest.mark.parametrize("breaks", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, breaks):
    path = tmp_path / "state.json"
    write_atomic(path, "old")

    def fail(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, breaks, fail)
    with pytest.raises(OSError, match="no space left"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_an_error_with_its_number_and_the_file_it_fell_on(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for write in (lambda path: write_atomic(path, "new"), lambda path: Lines(path, int).append(["1"])):
        with pytest.raises(OSError, match="No space left") as told:
            write(tmp_path / "file")
        assert (told.value.errno, told.value.filename) == (errno.ENOSPC, str(tmp_path / "file"))


def test_what_safetensors_cannot_write_is_told_as_any_failed_write(tmp_path):
    """Its own class of error, which holds the number in its text alone."""
    with pytest.raises(OSError, match="Is a directory") as told, whole_folder(tmp_path / "model") as place:
        (place / "weights").mkdir()
        save_file({"A": np.zeros(2)}, place / "weights")
    assert (told.value.errno, told.value.filename) == (errno.EISDIR, str(tmp_path / "model"))
    assert list(tmp_path.iterdir()) == []


def test_a_write_replaces_the_old_file_and_makes_missing_folders(tmp_path):
    path = tmp_path / "r0003" / "state.json"
    write_atomic(path, "old")
    write_atomic(path, b"new")
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_a_private_file_is_its_owners_alone(tmp_path):
    write_tensors(tmp_path / "private", {LOW_A: np.zeros(2, np.float32)}, {}, private=True)
    write_tensors(tmp_path / "plain", {LOW_A: np.zeros(2, np.float32)}, {})
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "plain").stat().st_mode) & 0o600 == 0o600
