import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.ircv3.split import clean, harmless, split_text, strip_formatting, text_budget

BUDGETS = st.integers(min_value=4, max_value=60)
SENDABLE = st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n")


@given(st.text(), BUDGETS)
def test_no_piece_is_empty_or_over_the_budget(text: str, budget: int) -> None:
    for piece in split_text(text, budget):
        assert 0 < len(piece.encode()) <= budget


@given(st.text(SENDABLE), BUDGETS)
def test_the_pieces_of_a_line_join_back_into_it(text: str, budget: int) -> None:
    assert "".join(split_text(text, budget)) == text


@given(st.lists(st.text(st.sampled_from("ab é"), min_size=1), max_size=8), BUDGETS)
def test_newlines_always_cut(lines: list[str], budget: int) -> None:
    expected = [piece for line in lines for piece in split_text(line, budget)]
    assert split_text("\n".join(lines), budget) == expected


@pytest.mark.parametrize(
    ("text", "budget", "pieces"),
    [
        pytest.param("", 10, [], id="nothing gives no line"),
        pytest.param("\n\r\n", 10, [], id="empty lines give no line"),
        pytest.param("one two three", 8, ["one two ", "three"], id="between words"),
        pytest.param("one twothreefour", 8, ["one ", "twothree", "four"], id="a long word"),
        pytest.param("    abcdefgh", 6, ["    ab", "cdefgh"], id="indentation is no word"),
        pytest.param("ééé", 4, ["éé", "é"], id="two-byte characters"),
        pytest.param("🚀🚀", 7, ["🚀", "🚀"], id="four-byte characters"),
        pytest.param("abe\u0301", 4, ["ab", "e\u0301"], id="an accent stays on its letter"),
        pytest.param("ab👍🏽", 8, ["ab", "👍🏽"], id="a skin tone stays on its hand"),
        pytest.param("ab👩\u200d💻", 12, ["ab", "👩\u200d💻"], id="a joined emoji stays whole"),
        pytest.param("👩\u200d💻", 8, ["👩\u200d", "💻"], id="unless it is over the budget"),
    ],
)
def test_text_is_cut_where_a_person_would(text: str, budget: int, pieces: list[str]) -> None:
    assert split_text(text, budget) == pieces


def test_a_budget_that_no_character_fits_is_an_error() -> None:
    with pytest.raises(ValueError, match="budget_bytes"):
        split_text("🚀", 3)


def test_a_long_text_is_split_in_linear_time() -> None:
    text = "word " * 200_000
    assert "".join(split_text(text, 400)) == text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("one\r\ntwo\rthree\nfour", "one two three four"),
        ("end\n", "end"),
        ("nul\0here", "nulhere"),
        ("half \ud83d emoji", "half \ufffd emoji"),
        ("tab\tand \x02bold\x02 stay", "tab\tand \x02bold\x02 stay"),
    ],
)
def test_a_cleaned_text_is_one_sendable_line(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x02!ready\x02 #task-1\x0f", "!ready #task-1"),
        ("\x0304,01red\x03 plain", "red plain"),
        ("\x034red", "red"),
        ("\x03123", "3"),
        ("\x04ff8800orange\x04", "orange"),
        ("\x1d\x1f\x1e\x11\x16all", "all"),
        ("1,2 stays", "1,2 stays"),
    ],
)
def test_formatting_codes_are_taken_out(text: str, plain: str) -> None:
    assert strip_formatting(text) == plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\x07b\x1b[2Jc\x7f\x9b", "ab[2Jc", id="control characters"),
        pytest.param("\u202efdp.exe\u2066", "fdp.exe", id="directions"),
        pytest.param("\x02bold\x0f \x0304red", "\x02bold\x0f \x0304red", id="formatting stays"),
        pytest.param("a\tb", "a b", id="tab"),
        pytest.param("👩‍💻 שלום é", "👩‍💻 שלום é", id="words of any script stay"),
    ],
)
def test_what_acts_on_other_words_is_taken_out(text: str, shown: str) -> None:
    assert harmless(text) == shown


def test_the_budget_of_a_line_counts_what_others_receive() -> None:
    source = "Worker-1!~u@abcdefghijklm.irc"
    assert len(f":{source} PRIVMSG #t :") + text_budget(source, "PRIVMSG", "#t") == 510
