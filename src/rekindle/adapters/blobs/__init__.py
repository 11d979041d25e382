"""Bytes of sessions off their host. `folder` keeps them on a shared mount; `sealed` encrypts them for any other."""
