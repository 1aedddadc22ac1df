"""What makes Ergonaut run on one machine: ergo, its configuration, the home, the supervisor."""
