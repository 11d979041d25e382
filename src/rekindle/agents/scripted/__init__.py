"""The scripted agent, which comes with rekindle."""
