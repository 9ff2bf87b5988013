"""The agent loop of the built-in harness: pydantic-ai speaks to models, remit holds the mode."""
