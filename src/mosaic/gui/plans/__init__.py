"""The plan editor: AgentSpeak, checked while somebody types."""
