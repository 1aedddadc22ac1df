"""What both programs share: the IRC layer and our wire formats. Knows neither program."""
