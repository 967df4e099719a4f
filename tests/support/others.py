"""What other users of this machine may reach."""

from tools.kit import TOP

# A checkout in root's home, where nobody else may enter, for instance.
CHECKOUT_IS_PRIVATE = not all(folder.stat().st_mode & 0o001
                              for folder in (TOP, *TOP.resolve().parents))
