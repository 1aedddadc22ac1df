"""A description as posts in its channel (design 4): multiline, tagged with its checksum. Pure.

The server bounds one multiline message, so a long text takes several in a row. Reader's rule: the
posts of one checksum, in order of time and joined without anything between, are the text.
"""

from __future__ import annotations

from shared.ircv3.batch import MultilineLimits


def to_posts(text: str, limits: MultilineLimits) -> list[str]:
    """Cut between characters; no post is over the limits, whatever its lines are cut to."""
    posts: list[str] = []
    start = 0
    while start < len(text):
        end = _end_of_post(text, start, limits)
        posts.append(text[start:end])
        start = end
    return posts


def _end_of_post(text: str, start: int, limits: MultilineLimits) -> int:
    """The longest post from here. A line may be cut earlier than at its budget, for a word."""
    line_budget = limits.line_bytes // 2
    size, lines, line_size = 0, 1, 0
    for index in range(start, len(text)):
        width = len(text[index].encode())
        if text[index] == "\n" or line_size + width > line_budget:
            lines, line_size = lines + 1, 0
        size, line_size = size + width, line_size + width
        if index > start and (size > limits.max_bytes or lines > limits.max_lines):
            return index
    return len(text)
