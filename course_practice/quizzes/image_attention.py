"""Questions of chapter 06, attention over images."""

ROW, COLUMN, WIDTH, HEIGHT = 3, 1, 7, 5
TOKEN = ROW * WIDTH + COLUMN
PIXELS = HEIGHT * WIDTH
SIDE, LARGER = 16, 32
