import pytest

from shared.ircv3.casemap import fold


@pytest.mark.parametrize(
    ("name", "mapping", "folded"),
    [
        ("HAL-9000", "ascii", "hal-9000"),
        ("a[B]~\\", "ascii", "a[b]~\\"),
        ("a[B]~\\", "rfc1459", "a{b}^|"),
        ("a[B]~\\", "rfc1459-strict", "a{b}~|"),
        ("ÄÖ", "ascii", "ÄÖ"),
        ("A[", "unheard-of", "a["),
    ],
)
def test_names_fold_as_the_server_folds_them(name: str, mapping: str, folded: str) -> None:
    assert fold(name, mapping) == folded
