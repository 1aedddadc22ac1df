"""The worker: one task, one agent, one channel. May import shared; never controller."""
