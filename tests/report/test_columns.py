"""Tables and paragraphs keep within eighty columns, and break no word."""

from __future__ import annotations

from rbdgen.report.columns import WIDTH, paragraph, table


def lines_of(text: str) -> list[str]:
    lines = text.splitlines()
    assert max(map(len, lines)) <= WIDTH, text
    return lines


def test_a_narrow_table_is_as_wide_as_its_cells() -> None:
    assert table(["name", "n"], [["a", 1], ["bc", 20]]) == "name   n\na      1\nbc    20"
    assert table(["name", "n"], [["a", None]]) == "name  n\na     –"


def test_heads_are_broken_before_cells() -> None:
    head = [f"multiplier utilization {k}" for k in range(5)]
    first, second, _, cells = lines_of(table(head, [list(range(5))]))
    assert first.split() == ["multiplier"] * 5
    assert second.split() == ["utilization"] * 5
    assert cells.split() == ["0", "1", "2", "3", "4"]


def test_the_widest_cells_are_broken_at_spaces() -> None:
    sentence = "a result is compared bit for bit with what the integer model says of it"
    lines = lines_of(
        table(["key", "what it is"], [["a_long_name_of_something", sentence], ["b", "c"]])
    )
    assert lines[1].startswith("a_long_name_of_something  a result is compared")
    assert lines[2].startswith(" " * 26)
    assert " ".join(line[26:] for line in lines[1:3]) == sentence
    assert lines[3].split() == ["b", "c"]


def test_gaps_are_narrow_where_that_is_enough() -> None:
    row = ["x" * 15] * 5
    assert table(["h"] * 5, [row]).splitlines()[1] == " ".join(row)


def test_long_words_stay_whole() -> None:
    word = "w" * 100
    assert word in table(["name", "of"], [[word, "two words"]])
    assert paragraph(f"a {word} b") == f"a\n{word}\nb"


def test_paragraphs_are_indented() -> None:
    lines = lines_of(paragraph("word " * 40, "  "))
    assert lines[0].startswith("word")
    assert all(line.startswith("  word") for line in lines[1:])
