"""The one function of SciPy that is used here."""
