"""What the integration tests share: the command under test, and servers for it to meet."""
