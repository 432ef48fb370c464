"""The seeds' first machine, on kvrm.Machine. docs/from-the-seeds.md says more."""
