"""What people can ask for: `table` has the commands, `answer` is the one way in."""
