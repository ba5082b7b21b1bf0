"""A local AWS: the pinned ministack emulator, started with the corrections this project needs.

Run it with ``.venv-emulator/bin/python -m local.emulator --port PORT --data DIR``. Every module
beside this one corrects one concern and says in its docstring what the emulator does, what AWS
does and how that is known; ``README.md`` has the same as one table.
"""
