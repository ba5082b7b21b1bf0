"""The local stack: the corrected emulator, the vendor sandbox, the deployed template, the inbox."""
