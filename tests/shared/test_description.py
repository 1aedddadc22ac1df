import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared import description
from shared.description import DescriptionDamaged, from_pieces, surplus, to_pieces

LONG = "Fix the 🐛 in «checkout»\n" * 110


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_description_reads_back_byte_exact(text: str) -> None:
    assert from_pieces(to_pieces(text)) == text


def test_every_piece_fits_one_metadata_value() -> None:
    pieces = to_pieces(LONG)
    assert from_pieces(pieces) == LONG
    assert max(len(k) + len(v.encode()) for k, v in pieces.items()) <= 350
    assert pieces["description.0"].startswith(f"{len(pieces):03d}:{description.checksum(LONG)}:")


def test_the_largest_allowed_description_fits_a_hundred_keys() -> None:
    text = "x" * (description.MAX_BYTES - 2)
    assert description.fits(text)
    assert not description.fits(text + "x")
    assert len(to_pieces(text)) < 80


def test_no_piece_means_no_description() -> None:
    assert from_pieces({"status": "ready"}) == ""


@pytest.mark.parametrize("lost", ["description.0", "description.1", "description.7"])
def test_a_lost_piece_is_noticed(lost: str) -> None:
    pieces = to_pieces(LONG)
    del pieces[lost]
    if lost == "description.0":
        assert from_pieces(pieces) == ""
        return
    with pytest.raises(DescriptionDamaged):
        from_pieces(pieces)


@pytest.mark.parametrize("broken", ["", "001:", "x:y:z", '001:00000000:"hi"', "001:00000000:7"])
def test_a_piece_that_was_changed_is_noticed(broken: str) -> None:
    with pytest.raises(DescriptionDamaged):
        from_pieces({"description.0": broken})


def test_pieces_of_an_older_longer_text_are_named() -> None:
    assert surplus(to_pieces("y" * 900), to_pieces("short")) == ["description.1", "description.2"]
