"""The vendor sandbox: an HTTP service on loopback that speaks the vendors' routes and shapes.

It does the work with real libraries (a rendered PDF, a PDF really signed) and has a switch for
every way a vendor is known to fail or to lie. It is never part of a deployment.
"""
