"""What the cluster tests share: worlds of network namespaces, and processes in them."""
