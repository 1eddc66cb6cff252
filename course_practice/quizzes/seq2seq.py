"""Questions of chapter 01, sequence to sequence."""

SHORT, LONG, HIDDEN = 5, 50, 256
