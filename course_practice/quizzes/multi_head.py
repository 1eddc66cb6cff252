"""Questions of chapter 04, multi-head attention."""

from course_lib.multi_head import MultiHeadAttention

BATCH, N_HEADS, Q_LEN, K_LEN, D_MODEL = 2, 4, 3, 5, 28
D_K = D_MODEL // N_HEADS
BASE_MODEL, BASE_HEADS, BASE_D_K = 512, 8, 64
LENGTH, HEADS = 5, 8  # of the scores that were printed: as many heads as features in each
MANY_HEADS = 16


def _parameters(d_model, n_heads):
    return sum(p.numel() for p in MultiHeadAttention(d_model, n_heads, bias=False).parameters())


PARAMETERS = _parameters(BASE_MODEL, BASE_HEADS)
PAPER_TOKENS = 50
PAPER_SHARE = (  # five operations a weight, beside four projections, scores, and weighted means
    5 * BASE_HEADS * PAPER_TOKENS**2 / (8 * PAPER_TOKENS * BASE_MODEL**2 + 4 * PAPER_TOKENS**2 * BASE_MODEL)
)
