"""Mock model servers: a script of answers for a real agent, and a full record of what it sent.

`server.ModelServer` holds script, record and HTTP; a `Dialect` puts one vendor's words on the wire. `anthropic` is the
first one; OpenAI (Responses, Chat) and Gemini are further dialects.
"""
