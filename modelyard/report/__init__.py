"""What people and machines read: a plan, findings and tables as text for terminals and as JSON.

Owns words, colours and layout. It decides nothing: every module takes finished values and returns text.
"""
