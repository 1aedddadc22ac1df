from __future__ import annotations

import pytest

from controller.local.apt_source import Source, mirrors, parse_sources

DEB822 = """\
Types: deb
# a remark
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
"""

LINES = """\
# deb http://old.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main contrib  # ours
deb-src http://mirror.example/debian bookworm main
deb cdrom:[Debian]/ bookworm main
deb https://vendor.example/tool bookworm stable
"""


def test_stanzas_are_read_and_disabled_ones_left_out() -> None:
    assert parse_sources(DEB822, deb822=True) == [
        Source(
            "http://mirror.example/debian", ("bookworm", "bookworm-updates"), ("main", "contrib")
        ),
        Source("http://mirror.example/debian-security", ("bookworm-security",), ("main",)),
    ]


def test_lines_are_read_with_and_without_options() -> None:
    assert parse_sources(LINES, deb822=False) == [
        Source("http://mirror.example/debian", ("bookworm",), ("main", "contrib")),
        Source("http://mirror.example/debian", ("bookworm",), ("main",)),
        Source("cdrom:[Debian]/", ("bookworm",), ("main",)),
        Source("https://vendor.example/tool", ("bookworm",), ("stable",)),
    ]


@pytest.mark.parametrize(
    ("source", "taken"),
    [
        pytest.param(Source("http://m/debian", ("bookworm",), ("main",)), True, id="our release"),
        pytest.param(Source("http://m/debian", ("sid",), ("main",)), True, id="a rolling suite"),
        pytest.param(
            Source("http://m/security", ("bookworm-security",), ("main",)), False, id="security"
        ),
        pytest.param(
            Source("http://v/tool", ("bookworm",), ("stable",)), False, id="a vendor's component"
        ),
        pytest.param(Source("http://v/tool", ("nodistro",), ("main",)), False, id="no release"),
        pytest.param(Source("cdrom:[x]/", ("bookworm",), ("main",)), False, id="a disc"),
    ],
)
def test_only_the_distribution_s_own_archives_are_mirrors(source: Source, taken: bool) -> None:
    assert mirrors([source], "bookworm") == ([source.uri] if taken else [])


def test_a_mirror_that_is_named_twice_is_tried_once() -> None:
    twice = parse_sources(DEB822, deb822=True) * 2

    assert mirrors(twice, "bookworm") == ["http://mirror.example/debian"]
