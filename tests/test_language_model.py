"""The decoder-only model against Hugging Face's Llama, its cache against the whole pass, sampling against its odds."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import assert_equal, gradient, scramble

from course_lib.language_model import LanguageModel, LanguageModelConfig, sample, top_k_filter, top_p_filter
from course_lib.probes import leak_probe, record_attention
from course_lib.tokens import EOS, PAD

SMALL = LanguageModelConfig(vocab_size=17, d_model=12, n_heads=6, n_kv_heads=2, d_ff=13, n_layers=2)
CLASSIC = {"rms_norm": False, "rotary": False, "swiglu": False, "n_kv_heads": 6}


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
            rms_norm_eps=1e-6,
            tie_word_embeddings=False,
            pad_token_id=PAD,
            bos_token_id=1,
            eos_token_id=EOS,
            attn_implementation="eager",
        )
    )
    with torch.no_grad():
        theirs.model.embed_tokens.weight.copy_(ours.tokens.weight * math.sqrt(c.d_model))
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


def test_equals_llama_with_gradients():
    ours = model()
    theirs = llama(ours)
    ids = torch.randint(1, 17, (3, 7))
    mine, reference = ours(ids), theirs(ids, use_cache=False).logits
    assert_equal(mine, reference)
    weight, their_weight = ours.blocks[0].attention.w_k.weight, theirs.model.layers[0].self_attn.k_proj.weight
    assert_equal(gradient(mine, weight)[0], gradient(reference, their_weight)[0])


@pytest.mark.parametrize(
    "changes", [{}, CLASSIC, {"rotary": False}, {"swiglu": False}, {"rms_norm": False}, {"n_kv_heads": 1}]
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


def test_reordered_and_kept_beams_go_on_with_their_own_history():
    ours = model()
    prompt = torch.randint(4, 17, (3, 4))
    state = ours.start(prompt).reorder(torch.zeros(3, 2, dtype=torch.long))
    words = torch.tensor([[4, 5], [6, 7], [8, 9]])
    _, state = ours.step(words, state)
    state = state.reorder(torch.tensor([[1, 1, 0], [0, 1, 0], [1, 0, 0]])).keep(torch.tensor([2, 0]))
    logits, _ = ours.step(torch.tensor([[3, 4, 5], [6, 7, 8]]), state)
    for row, sentence, parents, last in ((0, 2, [9, 8, 8], [3, 4, 5]), (1, 0, [5, 5, 4], [6, 7, 8])):
        for beam in range(3):
            ids = torch.cat([prompt[sentence], torch.tensor([parents[beam], last[beam]])])
            assert_equal(logits[row, beam], ours(ids[None])[0, -1])


def test_rotary_model_does_not_mind_pads_on_the_left():
    ours = model()
    ids = torch.randint(4, 17, (2, 5))
    padded = torch.cat([torch.zeros(2, 3, dtype=torch.long), ids], dim=1)
    assert_equal(ours(padded)[:, 3:], ours(ids))


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


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 12), st.floats(0.05, 0.99), st.integers(0, 999))
def test_filters_equal_hugging_faces(k, p, seed):
    process = pytest.importorskip("transformers.generation.logits_process")
    torch.manual_seed(seed)
    logits = 3 * torch.randn(3, 11, dtype=torch.float64)
    ids = torch.zeros(3, 1, dtype=torch.long)
    assert torch.equal(top_k_filter(logits, k), process.TopKLogitsWarper(k)(ids, logits))
    assert torch.equal(top_p_filter(logits, p), process.TopPLogitsWarper(p)(ids, logits))


def test_top_p_keeps_at_least_one_word():
    assert top_p_filter(torch.tensor([1.0, 2.0]), 0.0).tolist() == [-math.inf, 2.0]


LOGITS = torch.tensor([0.0, 0.0, 0.0, 0.0, 0.6, 0.25, 0.15]).log()


def fixed(tokens, state):
    return LOGITS.expand(*tokens.shape, -1), state + 1


@pytest.mark.parametrize(
    ("options", "odds"),
    [
        ({}, [0.6, 0.25, 0.15]),
        ({"temperature": 0.5}, [0.36 / 0.445, 0.0625 / 0.445, 0.0225 / 0.445]),
        ({"top_k": 2}, [0.6 / 0.85, 0.25 / 0.85, 0.0]),
        ({"top_p": 0.61}, [0.6 / 0.85, 0.25 / 0.85, 0.0]),
        ({"top_p": 0.5}, [1.0, 0.0, 0.0]),
        ({"top_k": 1, "temperature": 9.0}, [1.0, 0.0, 0.0]),
    ],
)
def test_samples_come_with_their_odds(options, odds):
    generator = torch.Generator().manual_seed(0)
    drawn = sample(fixed, 0, torch.ones(50, 40, dtype=torch.long), 3, generator=generator, **options)
    assert drawn.shape == (50, 40, 3)
    shares = torch.stack([(drawn == word).double().mean() for word in (4, 5, 6)])
    torch.testing.assert_close(shares, torch.tensor(odds, dtype=torch.float64), rtol=0, atol=0.03)
    again = sample(fixed, 0, torch.ones(50, 40, dtype=torch.long), 3, generator=generator.manual_seed(0), **options)
    assert torch.equal(drawn, again)


def test_sampling_stops_at_eos_with_pads_behind():
    script = torch.tensor([[4, 5, EOS, 6, 6], [4, EOS, 6, 6, 6]])

    def step(tokens, t):
        return torch.nn.functional.one_hot(script[:, t : t + 1], 7) * 100.0, t + 1

    assert sample(step, 0, torch.ones(2, 1, dtype=torch.long), 5).tolist() == [[[4, 5, EOS]], [[4, EOS, PAD]]]
    assert sample(step, 0, torch.ones(2, 1, dtype=torch.long), 2).tolist() == [[[4, 5]], [[4, EOS]]]
    assert sample(step, 0, torch.ones(2, 1, dtype=torch.long), 0).shape == (2, 1, 0)


def test_sampling_the_likeliest_word_equals_llamas_greedy_search():
    ours = model()
    theirs = llama(ours)
    prompt = torch.randint(4, 17, (3, 4))
    mine = sample(ours.step, ours.start(prompt[:, :-1]), prompt[:, -1:], max_len=9, top_k=1)[:, 0]
    reference = theirs.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=9)
    assert torch.equal(mine, reference[:, 4:])


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_a_temperature_of_nothing_is_refused(temperature):
    message = f"expected a temperature above 0, got {temperature}: for the most probable word use top_k=1"
    with pytest.raises(ValueError, match=message):
        sample(fixed, 0, torch.ones(1, 1, dtype=torch.long), 3, temperature=temperature)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_k": 0}, "expected top_k of at least 1, got 0"),
        ({"top_p": 90}, "expected top_p from 0 to 1, got 90"),
        ({"top_p": math.nan}, "expected top_p from 0 to 1, got nan"),
        ({"temperature": math.nan}, "expected a temperature above 0, got nan"),
    ],
)
def test_impossible_choices_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        sample(lambda tokens, state: (torch.zeros(1, 1, 5), state), None, torch.tensor([[1]]), max_len=1, **options)


def test_top_p_adds_up_in_single_precision():
    logits = torch.randn(2000, generator=torch.Generator().manual_seed(0)).bfloat16()
    kept = [top_p_filter(x, p=0.99).isfinite().sum().item() for x in (logits, logits.float())]
    assert kept[0] == kept[1]
