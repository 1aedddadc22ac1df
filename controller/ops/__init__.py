"""What operators run beside the controller: accounts, checks, seeding."""
