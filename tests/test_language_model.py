"""The decoder-only model against Hugging Face's Llama, its cache against the whole pass."""

import dataclasses
import math

import pytest
import torch
from oracles import assert_equal, gradient, scramble

from course_lib.batching import pad
from course_lib.language_model import LanguageModel, LanguageModelConfig, RopeScaling, windows
from course_lib.positional_encoding import sinusoidal_encoding
from course_lib.probes import leak_probe, record_attention
from course_lib.sampling import sample
from course_lib.tokens import EOS, PAD

SMALL = LanguageModelConfig(vocab_size=17, d_model=12, n_heads=6, n_kv_heads=2, d_ff=13, n_layers=2)
CLASSIC = {"rms_norm": False, "positions": "sinusoidal", "swiglu": False, "n_kv_heads": 6}


def model(**changes):
    torch.manual_seed(0)
    return scramble(LanguageModel(dataclasses.replace(SMALL, **changes))).double().eval()


def llama(ours):
    transformers = pytest.importorskip("transformers")
    c = ours.config
    theirs = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=c.vocab_size,
            hidden_size=c.d_model,
            intermediate_size=c.d_ff,
            num_hidden_layers=c.n_layers,
            num_attention_heads=c.n_heads,
            num_key_value_heads=c.n_kv_heads,
            head_dim=c.head_width,
            rms_norm_eps=c.eps,
            rope_parameters={"rope_type": "default", "rope_theta": c.rope_base},
            tie_word_embeddings=False,
            pad_token_id=PAD,
            bos_token_id=1,
            eos_token_id=EOS,
            attn_implementation="eager",
        )
    )
    with torch.no_grad():
        theirs.model.embed_tokens.weight.copy_(ours.tokens.weight * (math.sqrt(c.d_model) if c.scaled else 1))
        theirs.lm_head.weight.copy_(ours.output.weight)
        theirs.model.norm.weight.copy_(ours.norm.gain)
        for block, layer in zip(ours.blocks, theirs.model.layers, strict=True):
            layer.input_layernorm.weight.copy_(block.norm_1.gain)
            layer.post_attention_layernorm.weight.copy_(block.norm_2.gain)
            for name in "qkvo":
                projection = getattr(layer.self_attn, f"{name}_proj")
                projection.weight.copy_(getattr(block.attention, f"w_{name}").weight)
            layer.mlp.gate_proj.weight.copy_(block.feed_forward.w_1.weight)
            layer.mlp.up_proj.weight.copy_(block.feed_forward.w_3.weight)
            layer.mlp.down_proj.weight.copy_(block.feed_forward.w_2.weight)
    return theirs.double().eval()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"d_k": 4},
        {"rope_base": 50.0},
        {"eps": 0.1},
        {"tied": False},
        {"scaled": False},
        {"d_model": 18, "d_k": 4, "rope_base": 500_000.0, "eps": 1e-5, "tied": False, "scaled": False},
    ],
    ids=str,
)
def test_equals_llama_with_gradients(changes):
    ours = model(**changes)
    theirs = llama(ours)
    ids = torch.randint(1, 17, (3, 7))
    mine, reference = ours(ids), theirs(ids, use_cache=False).logits
    assert_equal(mine, reference)
    weight, their_weight = ours.blocks[0].attention.w_k.weight, theirs.model.layers[0].self_attn.k_proj.weight
    assert_equal(gradient(mine, weight)[0], gradient(reference, their_weight)[0])


@pytest.mark.parametrize(
    "changes",
    [
        *({}, CLASSIC, {"positions": "sinusoidal"}, {"positions": "none"}, {"swiglu": False}, {"rms_norm": False}),
        *({"n_kv_heads": 1}, {"d_k": 4, "rope_layout": "interleaved"}, {"tied": False, "scaled": False}),
        *({"qkv_bias": True}, {"qk_norm": True}, {"d_k": 8, "rope_scaling": RopeScaling(4.0, 1.0, 4.0, 5)}),
    ],
    ids=str,
)
def test_every_combination_is_causal_learns_and_caches(changes):
    ours = model(**changes)
    ids = torch.randint(1, 17, (3, 7))
    assert leak_probe(ours, ids)
    ours(ids).square().sum().backward()
    silent = [n for n, p in ours.named_parameters() if p.grad is None or p.grad.eq(0).all()]
    assert silent == []
    state, steps = ours.start(ids[:, :3]), []
    for t in range(3, 7):
        logits, state = ours.step(ids[:, t : t + 1], state)
        steps.append(logits)
    assert_equal(torch.cat(steps, dim=1), ours(ids)[:, 3:])


def test_the_tied_matrix_is_one_parameter():
    ours = LanguageModel(SMALL)
    assert ours.output.weight is ours.tokens.weight
    assert LanguageModel(dataclasses.replace(SMALL, tied=False)).output.weight is not ours.tokens.weight


# What the models' own cards say; two of the heads are wider than d_model / n_heads.
PUBLISHED = {
    "SmolLM2 135M": (LanguageModelConfig(49152, 576, 9, 3, 1536, 30), 134_515_008),
    "Llama 3.2 1B": (LanguageModelConfig(128256, 2048, 32, 8, 8192, 16), 1_235_814_400),
    "Gemma 2B": (LanguageModelConfig(256000, 2048, 8, 1, 16384, 18, d_k=256), 2_506_172_416),
    "Mistral 7B": (LanguageModelConfig(32000, 4096, 32, 8, 14336, 32, tied=False), 7_241_732_096),
    "Llama 3 8B": (LanguageModelConfig(128256, 4096, 32, 8, 14336, 32, tied=False), 8_030_261_248),
    "Llama 3.1 405B": (LanguageModelConfig(128256, 16384, 128, 8, 53248, 126, tied=False), 405_853_388_800),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_real_models_configuration_gives_its_published_count(name):
    config, count = PUBLISHED[name]
    with torch.device("meta"):  # shapes without memory
        ours = LanguageModel(config)
    assert sum(p.numel() for p in ours.parameters()) == count


def test_the_same_text_elsewhere_is_the_same_to_rotary_positions_alone():
    ids = torch.randint(1, 17, (2, 6))
    moved = {
        positions: (ours(ids, offset=40) - ours(ids)).abs().max().item()
        for positions in ("rotary", "none", "sinusoidal")
        for ours in [model(positions=positions)]
    }
    assert moved["rotary"] < 1e-6  # the angles are rounded to single precision
    assert moved["none"] == 0
    assert moved["sinusoidal"] > 0.01
    classic = model(positions="sinusoidal")
    elsewhere = classic(ids, offset=40)
    classic.positions.table = sinusoidal_encoding(46, 12)[40:].double()
    assert_equal(elsewhere, classic(ids))


def test_a_place_before_the_first_is_for_rotary_positions_alone():
    ids = torch.randint(1, 17, (2, 6))
    assert_equal(model()(ids, offset=-3), model()(ids), 1e-5)
    for offset in (-1, -3, -250):
        with pytest.raises(ValueError, match=f"expected offset as a whole number of at least 0, got {offset}"):
            model(positions="sinusoidal")(ids, offset=offset)


def test_scaled_rotations_are_as_they_were_in_the_fast_pairs_and_slower_in_the_others():
    scaling = RopeScaling(factor=8.0, low=1.0, high=4.0, length=8192)
    slower = scaling.slower(d_k=64, base=500_000.0)
    turns = 8192 * 500_000.0 ** (-torch.arange(0, 64, 2) / 64) / (2 * math.pi)
    assert_equal(slower[turns > 4], torch.ones(int((turns > 4).sum())))
    assert_equal(slower[turns < 1], torch.full((int((turns < 1).sum()),), 1 / 8))
    assert (slower.diff() <= 0).all()


def test_biases_and_norms_of_queries_and_keys_at_once_are_refused():
    with pytest.raises(ValueError, match="expected qkv_bias or qk_norm, got both"):
        dataclasses.replace(SMALL, qkv_bias=True, qk_norm=True)


def test_unknown_positions_are_refused():
    with pytest.raises(ValueError, match="expected positions 'rotary', 'sinusoidal', or 'none', got 'learned'"):
        LanguageModelConfig(17, positions="learned")


@pytest.mark.parametrize(("n", "length"), [(2, 1), (9, 4), (10, 4), (9, 8), (12, 5)])
def test_windows_predict_every_id_once(n, length):
    read, said = windows(torch.arange(n), length)
    assert torch.equal(said, read + 1)
    assert torch.equal(read.flatten(), torch.arange(len(read) * length))
    assert n - length <= said.numel() <= n - 1


@pytest.mark.parametrize("length", [0, -1, 9, 10])
def test_windows_longer_than_the_text_are_refused(length):
    with pytest.raises(ValueError, match=f"expected a length from 1 to 8 for a text of 9 ids, got {length}"):
        windows(torch.arange(9), length)


PROMPTS = [[5, 6, 7, 8, 9], [10, 11], [4]]
PADDED = {
    "left": pad([prompt[::-1] for prompt in PROMPTS]).flip(1),
    "right": pad(PROMPTS),
    "anywhere": torch.tensor([[5, 6, 7, 8, 9], [10, 0, 0, 11, 0], [0, 0, 4, 0, 0]]),
}


@pytest.mark.parametrize("side", PADDED)
@pytest.mark.parametrize("positions", ["rotary", "sinusoidal", "none"])
def test_padded_prompts_give_what_each_gives_alone(positions, side):
    ours, prompts = model(positions=positions), PADDED[side]
    whole, state, steps = ours(prompts), ours.start(prompts), []
    for tokens in ([12, 13, 14], [15, 16, 12]):
        logits, state = ours.step(torch.tensor(tokens)[:, None], state)
        steps.append(logits)
    for row, (prompt, first, second) in enumerate(zip(PROMPTS, (12, 13, 14), (15, 16, 12), strict=True)):
        alone = ours(torch.tensor([[*prompt, first, second]]))[0]
        assert_equal(whole[row][prompts[row] != PAD], alone[:-2])
        assert_equal(torch.cat(steps, dim=1)[row], alone[-2:])


@pytest.mark.parametrize("changes", [{}, CLASSIC])
def test_sampling_from_padded_prompts_writes_what_each_prompt_writes_alone(changes):
    ours, prompts = model(**changes), PADDED["left"]
    together = sample(ours.step, ours.start(prompts[:, :-1]), prompts[:, -1:], max_len=5, top_k=1)[:, 0]
    for row, prompt in enumerate(PROMPTS):
        ids = torch.tensor([prompt])
        alone = sample(ours.step, ours.start(ids[:, :-1]), ids[:, -1:], max_len=5, top_k=1)[0, 0]
        assert torch.equal(together[row, : len(alone)], alone)
    right = PADDED["right"]
    with pytest.raises(ValueError, match="expected a word at the end of each prompt, got the pad 0: pad prompts on th"):
        sample(ours.step, ours.start(right[:, :-1]), right[:, -1:], max_len=5)


def test_weights_can_be_recorded():
    ours, ids = model(), torch.randint(4, 17, (2, 5))
    with record_attention(ours) as weights:
        ours(ids)
    assert {name: tuple(w.shape) for name, w in weights.items()} == {
        f"blocks.{i}.attention": (2, 6, 5, 5) for i in range(2)
    }


def test_state_dict_round_trip_and_empty_batch():
    ours, copy = model(), LanguageModel(SMALL).double().eval()
    copy.load_state_dict(ours.state_dict())
    ids = torch.randint(1, 17, (2, 5))
    assert torch.equal(ours(ids), copy(ids))
    assert ours(ids[:0]).shape == (0, 5, 17)


def test_an_id_outside_the_vocabulary_is_named():
    with pytest.raises(ValueError, match="expected ids from 0 to vocab_size - 1 = 16, got 17"):
        model()(torch.tensor([[17]]))


def test_sampling_the_likeliest_word_equals_llamas_greedy_search():
    ours = model()
    theirs = llama(ours)
    prompt = torch.randint(4, 17, (3, 4))
    mine = sample(ours.step, ours.start(prompt[:, :-1]), prompt[:, -1:], max_len=9, top_k=1)[:, 0]
    reference = theirs.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=9)
    assert torch.equal(mine, reference[:, 4:])


def test_another_padding_id_or_none():
    """Vocabularies from elsewhere have words with the id 0."""
    ids = torch.tensor([[5, 0, 7, 9]])
    models = {pad_id: LanguageModel(dataclasses.replace(SMALL, pad_id=pad_id)).eval() for pad_id in (PAD, 9, -1)}
    for model in models.values():
        model.load_state_dict(models[PAD].state_dict())
    weights = {}
    for pad_id, model in models.items():
        with record_attention(model) as recorded:
            model(ids)
        weights[pad_id] = next(iter(recorded.values()))[0, 0, -1]
    assert [(row > 0).tolist() for row in weights.values()] == [
        [True, False, True, True],
        [True, True, True, False],
        [True, True, True, True],
    ]


@pytest.mark.parametrize("name", ["vocab_size", "d_model", "d_ff", "n_layers"])
def test_sizes_of_nothing_are_refused(name):
    with pytest.raises(ValueError, match=f"expected {name} as a whole number of at least 1, got 0"):
        LanguageModel(dataclasses.replace(SMALL, **{name: 0}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("dropout", math.nan), ("eps", math.nan), ("eps", -1.0), ("rope_base", math.nan), ("rope_base", 0)],
        *[("d_k", 0), ("n_heads", math.nan), ("n_layers", 1.5), ("vocab_size", None)],
    ],
)
def test_numbers_that_no_model_can_have_are_refused(name, value, unchecked):
    with pytest.raises(
        ValueError, match=f"expected {name} (as a whole number of at least 1|from . to .*), got {value}: "
    ):
        dataclasses.replace(SMALL, **{name: value})


def test_another_end():
    step = lambda tokens, state: (torch.nn.functional.one_hot(tokens + 1, 9).float() * 100, state)  # noqa: E731
    drawn = sample(step, None, torch.tensor([[3]]), max_len=6, eos_id=5)
    assert drawn.tolist() == [[[4, 5]]]
