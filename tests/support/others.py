"""What other users of this machine may reach."""

from tools.kit import TOP

# True for a checkout in root's home, for instance: no other user may enter there.
CHECKOUT_IS_PRIVATE = not all(folder.stat().st_mode & 0o001
                              for folder in (TOP, *TOP.resolve().parents))
