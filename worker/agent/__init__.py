"""The agent loop: a model, tools, and people who steer, follow up and abort while it works.

Knows nothing of IRC or Kubernetes. `agent.Agent` is the way in, `events.AgentEvent` the way out.
"""
