"""Images: where they lie, how they are opened, and what is said when they cannot be."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fedrand.data import DataError, Example, ImageSource
from fedrand.errors import InputError


@pytest.fixture
def red(tmp_path: Path) -> Path:
    path = tmp_path / "red.png"
    Image.new("RGB", (4, 3), "red").save(path)
    return path


def test_a_file_and_a_member_of_a_zip_load_the_same_picture(red: Path, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(red, "in/red.png")
    plain, zipped = ImageSource(red), ImageSource(tmp_path / "all.zip", "in/red.png")
    assert plain.load().tobytes() == zipped.load().tobytes() == bytes([255, 0, 0] * 12)
    assert plain.key == str(red)
    assert zipped.key == f"{tmp_path / 'all.zip'}::in/red.png"


def test_transparent_parts_become_white(tmp_path: Path):
    Image.new("RGBA", (1, 1), (9, 9, 9, 0)).save(tmp_path / "clear.png")
    assert ImageSource(tmp_path / "clear.png").load().getpixel((0, 0)) == (255, 255, 255)


def test_a_grey_picture_becomes_rgb(tmp_path: Path):
    Image.new("L", (2, 2), 7).save(tmp_path / "grey.png")
    assert ImageSource(tmp_path / "grey.png").load().getpixel((0, 0)) == (7, 7, 7)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bits_of_grey_become_eight(tmp_path: Path, suffix):
    path = tmp_path / f"x-ray.{suffix}"
    Image.fromarray(np.array([[0, 257, 257 * 128, 65535]], dtype=np.uint16)).save(path)
    assert np.asarray(ImageSource(path).load()).tolist() == [[[grey] * 3 for grey in (0, 1, 128, 255)]]


def test_a_photo_taken_sideways_is_turned_upright(tmp_path: Path):
    exif = Image.Exif()
    exif[0x0112] = 6  # rotate by 90 degrees
    Image.new("RGB", (8, 4)).save(tmp_path / "photo.jpg", exif=exif)
    assert ImageSource(tmp_path / "photo.jpg").load().size == (4, 8)


def test_nothing_is_opened_before_load(tmp_path: Path):
    ImageSource(tmp_path / "absent.png")


@pytest.mark.parametrize("content", [b"", b"not an image", b"\x89PNG\r\n\x1a\n" + b"x" * 40])
def test_a_broken_image_is_named(tmp_path: Path, content: bytes):
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"cannot read image .*broken.png .*; replace it or remove"):
        ImageSource(path).load()


def test_a_cut_image_is_named_by_load(red: Path):
    Image.effect_noise((64, 64), 50).save(red)
    red.write_bytes(red.read_bytes()[:200])
    with pytest.raises(DataError, match=r"red.png"):
        ImageSource(red).load()


def test_a_missing_file_and_a_missing_member_are_named(red: Path, tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(red, "red.png")
    for source in (ImageSource(tmp_path / "absent.png"), ImageSource(tmp_path / "all.zip", "absent.png")):
        with pytest.raises(DataError, match=r"absent.png \(no such file\)"):
            source.load()


def test_a_file_that_is_no_zip_is_named(red: Path):
    with pytest.raises(DataError, match=r"red.png::x \(BadZipFile\)"):
        ImageSource(red, "x").load()


def test_a_data_error_is_an_input_error():
    assert issubclass(DataError, InputError)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # other tests start threads
def test_two_processes_read_one_archive_at_the_same_time(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, colour in (("red", (255, 0, 0)), ("blue", (0, 0, 255))):
            Image.new("RGB", (200, 200), colour).save(tmp_path / f"{name}.bmp")
            archive.write(tmp_path / f"{name}.bmp", f"{name}.bmp")
    red, blue = (ImageSource(tmp_path / "all.zip", f"{name}.bmp") for name in ("red", "blue"))
    expected = red.load().tobytes(), blue.load().tobytes()
    child = os.fork()
    if child == 0:
        os._exit(0 if all(_loads_as(red, expected[0]) for _ in range(200)) else 1)
    alike = all(_loads_as(blue, expected[1]) for _ in range(200))
    assert alike and os.waitpid(child, 0)[1] == 0


def _loads_as(source: ImageSource, expected: bytes) -> bool:
    try:
        return source.load().tobytes() == expected
    except DataError:
        return False


def test_the_unit_of_an_example_without_a_group_is_itself():
    alone = Example(id="a", image=None, prompt="coco", answer="x", references=("x",))
    assert alone.unit == "a"
