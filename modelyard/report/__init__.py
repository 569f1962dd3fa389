"""Plans, findings and tables as text for terminals, JSON, pages, and formats of CI systems.

Owns words, colours and layout. Decides nothing: each module takes finished values and returns text.
"""
