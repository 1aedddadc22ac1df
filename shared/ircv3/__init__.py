"""IRCv3 as plain values: what the PyPI package `irc` lacks, with no socket, clock or loop in it."""
