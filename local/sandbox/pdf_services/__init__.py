"""Foxit PDF Services as the sandbox plays it: upload, convert, poll, download, delete."""
