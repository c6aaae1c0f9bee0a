"""Facts as data files with source and date, behind typed lookups.

Nothing in here decides anything: a catalog says what exists, ``inferfab.plan`` says what will exist.
"""
