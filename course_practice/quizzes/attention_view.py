"""Questions of chapter 18, what the heads do."""

VALUES = [(0, 0), (4, 0), (0, 4), (4, 4)]
MAPS = {"½ 0 0 ½": (0.5, 0, 0, 0.5), "0 ½ ½ 0": (0, 0.5, 0.5, 0), "½ ½ 0 0": (0.5, 0.5, 0, 0)}
OUTPUTS = {
    name: tuple(sum(w * v[i] for w, v in zip(weights, VALUES, strict=True)) for i in range(2))
    for name, weights in MAPS.items()
}
SAME = OUTPUTS["½ 0 0 ½"]
assert (OUTPUTS["0 ½ ½ 0"] == SAME, OUTPUTS["½ ½ 0 0"] == SAME) == (True, False)  # the options marked so
