"""Questions of chapter 17, putting it all together."""

TOKEN, TOKENS = 0.98, 12
SENTENCE = TOKEN**TOKENS
