"""The command line: one small file per command, each imported only when it is called."""
