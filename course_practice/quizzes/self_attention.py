"""Questions of chapter 03, self-attention."""

LENGTH, WIDTH = 50, 512
PRODUCTS = 2 * LENGTH**2 * WIDTH  # the scores, and the weighted means
ATTENTION = 3 * LENGTH * WIDTH**2 + PRODUCTS
RECURRENT = 2 * LENGTH * WIDTH**2
