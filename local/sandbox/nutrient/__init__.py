"""Nutrient DWS stand-in: data extraction and redaction with real libraries, and its known lies."""
