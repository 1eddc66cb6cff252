"""Models that `transformers` makes with random weights and saves: the course reads them, and computes the same."""

import json
import os

import pytest
import torch
from oracles import assert_equal
from safetensors.torch import load_file, save_file

from course_lib.beam_search import beam_search, greedy_search
from course_lib.fast import fast_loss
from course_lib.fast.cached import CachedTransformer
from course_lib.pretrained.folders import gpt2, llama, marian, read_config
from course_lib.probes import leak_probe
from course_lib.sampling import sample
from course_lib.tokens import BOS, EOS, PAD

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip("transformers")
SIZES = {
    "vocab_size": 23,
    "hidden_size": 12,
    "intermediate_size": 17,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
LLAMA_3 = {
    "rope_type": "llama3",
    "rope_theta": 50.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
DECODERS = {
    "llama": ("Llama", {"tie_word_embeddings": False}),
    "llama, tied": ("Llama", {"tie_word_embeddings": True, "rms_norm_eps": 0.1}),
    "llama, wide heads": ("Llama", {"head_dim": 4, "num_key_value_heads": 6}),
    "llama 3": ("Llama", {"rope_parameters": LLAMA_3, "head_dim": 8}),
    "qwen 2": ("Qwen2", {"tie_word_embeddings": True}),
    "qwen 3": ("Qwen3", {"head_dim": 4, "rms_norm_eps": 0.01}),
}


def randomized(model):
    """Every weight is random, biases and norms too; double precision."""
    torch.manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" in name:  # Marian's sinusoids
                continue
            parameter.copy_(torch.randn_like(parameter) * 0.4 + (1.0 if "norm" in name or "ln_" in name else 0.0))
    return model.double().eval()


def decoder(kind, folder):
    """A saved decoder-only model of that kind, as `transformers` has it."""
    name, changes = DECODERS[kind]
    config = getattr(transformers, f"{name}Config")(**SIZES | changes, attn_implementation="eager")
    theirs = randomized(getattr(transformers, f"{name}ForCausalLM")(config))
    theirs.save_pretrained(folder)
    return theirs


def small_gpt2(folder, **changes):
    sizes = {"vocab_size": 23, "n_embd": 12, "n_head": 3, "n_layer": 2, "n_positions": 40}
    config = transformers.GPT2Config(**sizes | {"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0} | changes)
    theirs = randomized(transformers.GPT2LMHeadModel(config))
    theirs.save_pretrained(folder)
    return theirs


def small_marian(folder, **changes):
    sizes = {"vocab_size": 23, "d_model": 12, "max_position_embeddings": 40}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 2, f"{side}_attention_heads": 3, f"{side}_ffn_dim": 17}
    ids = {"pad_token_id": 22, "decoder_start_token_id": 22, "eos_token_id": 0, "forced_eos_token_id": None}
    kept = {"scale_embedding": True, "activation_function": "swish", "dropout": 0.0}
    theirs = randomized(transformers.MarianMTModel(transformers.MarianConfig(**sizes | ids | kept | changes)))
    with torch.no_grad():
        theirs.model.shared.weight.mul_(0.5)
        theirs.final_logits_bias.copy_(torch.randn(23).double())
        theirs.final_logits_bias[0, 0] += 3.0
    theirs.save_pretrained(folder)
    return theirs


def change_config(folder, **fields):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | fields), "utf-8")


# --- Llama, Qwen


@pytest.mark.parametrize("kind", DECODERS)
def test_decoders_equal_theirs_with_gradients(kind, tmp_path):
    theirs = decoder(kind, tmp_path)
    ours = llama(tmp_path, torch.float64)
    ids = torch.randint(0, 23, (2, 50))
    mine, reference = ours(ids), theirs(ids, use_cache=False).logits
    assert_equal(mine, reference, 1e-3)  # both round their angles to single precision
    mine.square().sum().backward()
    reference.square().sum().backward()
    for block, layer in zip(ours.blocks, theirs.model.layers, strict=True):
        grad = layer.self_attn.q_proj.weight.grad
        assert_equal(block.attention.w_q.weight.grad, grad, 1e-4 * grad.abs().max().item())
    assert (ours.output.weight is ours.tokens.weight) == theirs.config.tie_word_embeddings
    assert leak_probe(ours, ids)


@pytest.mark.parametrize("kind", ["llama 3", "qwen 2", "qwen 3"])
def test_what_is_new_in_a_family_changes_the_scores(kind, tmp_path):
    """Without it the equality above would not hold."""
    theirs = decoder(kind, tmp_path)
    ours = llama(tmp_path, torch.float64)
    ids = torch.randint(0, 23, (1, 50))
    if kind == "llama 3":
        change_config(tmp_path, rope_parameters={"rope_type": "default", "rope_theta": 50.0})
        ours = llama(tmp_path, torch.float64)
    for block in ours.blocks:
        if kind == "qwen 2":
            block.attention.w_k.bias.data.zero_()
        elif kind == "qwen 3":
            block.attention.w_k.norm.gain.data.fill_(1.0)
    assert (ours(ids) - theirs(ids).logits).abs().max() > 0.05


def test_greedy_search_equals_generate(tmp_path):
    theirs = decoder("qwen 3", tmp_path)
    ours = llama(tmp_path, torch.float64)
    prompt = torch.randint(4, 23, (3, 4))
    drawn = sample(ours.step, ours.start(prompt[:, :-1]), prompt[:, -1:], max_len=9, top_k=1, eos_id=-2, pad_id=-1)
    reference = theirs.generate(
        prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=9, pad_token_id=0
    )
    assert torch.equal(drawn[:, 0], reference[:, 4:])


def test_an_older_configuration_and_files_in_parts(tmp_path):
    """As Llama 3.2 was published: the rotary fields in two places, the weights in two files, copies among them."""
    theirs = decoder("llama 3", tmp_path)
    file = json.loads((tmp_path / "config.json").read_text("utf-8"))
    scaling = {name: value for name, value in file.pop("rope_parameters").items() if name != "rope_theta"}
    (tmp_path / "config.json").write_text(json.dumps(file | {"rope_theta": 50.0, "rope_scaling": scaling}), "utf-8")
    weights = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    parts = sorted(weights)[::2], sorted(weights)[1::2]
    for i, names in enumerate(parts):
        extra = {f"model.layers.{i}.self_attn.rotary_emb.inv_freq": torch.ones(2)}
        save_file({name: weights[name] for name in names} | extra, tmp_path / f"model-0000{i}-of-00002.safetensors")
    ids = torch.randint(0, 23, (1, 30))
    assert_equal(llama(tmp_path, torch.float64)(ids), theirs(ids).logits, 1e-3)


def test_a_model_in_half_precision_is_read_as_asked(tmp_path):
    decoder("llama", tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    save_file({name: weight.bfloat16() for name, weight in weights.items()}, tmp_path / "model.safetensors")
    assert llama(tmp_path).tokens.weight.dtype == torch.float32
    assert llama(tmp_path, torch.bfloat16).tokens.weight.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"model_type": "gemma3_text"}, "expected model_type to be 'llama' or 'qwen2' or 'qwen3', got 'gemma3_text'"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "expected rope_type to be None or 'default' or 'llama3', got 'ya"),
        ({"attention_bias": True}, "expected attention_bias to be None or False, got True"),
        ({"hidden_act": "gelu"}, "expected hidden_act to be None or 'silu', got 'gelu'"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "expected layer_types to be 'full_attention', got "),
        ({"quantization_config": {"bits": 4}}, "expected quantization_config to be None, got {'bits': 4}"),
        ({"model_type": "qwen2"}, "expected a weight for blocks.0.attention.w_q.bias, got none in the files"),
        ({"num_hidden_layers": 2}, "expected the weights of the model, got blocks.2.norm_1.gain, too"),
    ],
    ids=str,
)
def test_what_the_model_does_not_have_is_refused_by_name(fields, words, tmp_path):
    decoder("llama", tmp_path)
    change_config(tmp_path, **fields)
    with pytest.raises(ValueError, match=words):
        llama(tmp_path)


def test_weights_of_another_kind_are_refused(tmp_path):
    decoder("llama", tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    save_file(weights | {"model.layers.0.mlp.experts.0.w1.weight": torch.ones(1)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"got model\.layers\.0\.mlp\.experts\.0\.w1\.weight: the course's"):
        llama(tmp_path)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"expected config\.json in .*, got none: name the folder"):
        llama(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_embd": 8}), "utf-8")
    assert read_config(tmp_path)["n_embd"] == 8


# --- GPT-2


@pytest.mark.parametrize("changes", [{}, {"n_inner": 17, "layer_norm_epsilon": 0.1}], ids=str)
def test_gpt2_equals_theirs_with_gradients(changes, tmp_path):
    theirs = small_gpt2(tmp_path, **changes)
    ours = gpt2(tmp_path, torch.float64)
    ids = torch.randint(0, 23, (2, 40))
    mine, reference = ours(ids), theirs(ids, use_cache=False).logits
    assert_equal(mine, reference)
    mine.square().sum().backward()
    reference.square().sum().backward()
    for layer, block in zip(ours.encoder.layers, theirs.transformer.h, strict=True):
        grads = [getattr(layer.attention, f"w_{letter}").weight.grad.T for letter in "qkv"]
        assert_equal(torch.cat(grads, dim=1), block.attn.c_attn.weight.grad)
    assert leak_probe(ours, ids)


def test_gpt2_as_it_was_published_and_searched(tmp_path):
    """Names without their beginning, and masks among the weights."""
    theirs = small_gpt2(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    old = {name.removeprefix("transformer."): weight for name, weight in weights.items()}
    old |= {f"h.{i}.attn.bias": torch.ones(1, 1, 40, 40) for i in range(2)}
    save_file(old, tmp_path / "model.safetensors")
    ours = gpt2(tmp_path, torch.float64)
    prompt = torch.randint(0, 23, (2, 3))
    drawn = sample(ours.step, ours.start(prompt[:, :-1]), prompt[:, -1:], max_len=8, top_k=1, eos_id=-2, pad_id=-1)
    reference = theirs.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        do_sample=False,
        max_new_tokens=8,
        eos_token_id=99,
        pad_token_id=0,
    )
    assert torch.equal(drawn[:, 0], reference[:, 3:])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"activation_function": "relu"}, "expected activation_function to be None or 'gelu_new', got 'relu'"),
        ({"scale_attn_by_inverse_layer_idx": True}, "expected scale_attn_by_inverse_layer_idx to be None or False"),
        ({"model_type": "gpt_neo"}, "expected model_type to be 'gpt2', got 'gpt_neo'"),
    ],
    ids=str,
)
def test_gpt2_with_other_parts_is_refused(fields, words, tmp_path):
    small_gpt2(tmp_path)
    change_config(tmp_path, **fields)
    with pytest.raises(ValueError, match=words):
        gpt2(tmp_path)


# --- Marian


@pytest.mark.parametrize("changes", [{}, {"activation_function": "relu"}, {"decoder_start_token_id": 5}], ids=str)
def test_marian_equals_theirs_with_gradients(changes, tmp_path):
    theirs = small_marian(tmp_path, **changes)
    ours, numbering = marian(tmp_path, torch.float64)
    start = theirs.config.decoder_start_token_id
    src = torch.randint(6, 22, (3, 9))
    tgt_in = torch.cat([torch.full((3, 1), start), torch.randint(6, 22, (3, 6))], dim=1)
    src[0, 5:] = 22
    our_src = torch.tensor([numbering.to_course(row) for row in src.tolist()])
    our_tgt = torch.tensor([[BOS, *numbering.to_course(row)] for row in tgt_in[:, 1:].tolist()])
    assert our_src[0, 5:].tolist() == [PAD] * 4
    mine = ours(our_src, our_tgt)
    reference = theirs(input_ids=src, attention_mask=(src != 22).long(), decoder_input_ids=tgt_in).logits
    order = torch.tensor(numbering.file_ids[EOS:])
    assert_equal(mine[..., EOS:], reference[..., order])
    mine[..., EOS:].square().sum().backward()
    reference[..., order].square().sum().backward()
    for layer, block in zip(ours.decoder.layers, theirs.model.decoder.layers, strict=True):
        assert_equal(layer.cross_attention.w_k.weight.grad, block.encoder_attn.k_proj.weight.grad)


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("cached", [False, True])
def test_marian_writes_what_generate_writes(beam_size, cached, tmp_path):
    theirs = small_marian(tmp_path)
    ours, numbering = marian(tmp_path, torch.float64)
    src = torch.randint(1, 22, (13, 6))
    rows = theirs.generate(
        src, attention_mask=torch.ones_like(src), num_beams=beam_size, do_sample=False, max_new_tokens=12,
        length_penalty=1.0, bad_words_ids=[[22]],
    )[:, 1:].tolist()  # fmt: skip
    model = CachedTransformer(ours) if cached else ours
    state = model.start(torch.tensor([numbering.to_course(row) for row in src.tolist()]))
    if beam_size == 1:
        found = greedy_search(model.step, state, len(src), 12)
    else:
        found = [best[0] for best in beam_search(model.step, state, len(src), beam_size, 12)]
    ended = 0
    for mine, row in zip(found, rows, strict=True):
        if 0 in row:  # theirs lets a translation that was cut off win over finished ones, ours does not
            assert mine.finished
            assert numbering.to_file(mine.tokens) == row[: row.index(0)]
            ended += 1
    assert ended > 6


def test_marians_bias_is_not_forgotten_when_it_is_trained(tmp_path):
    small_marian(tmp_path)
    ours, _ = marian(tmp_path)
    src = torch.randint(3, 23, (2, 5))
    with pytest.raises(ValueError, match="expected an output layer without a bias, got one: train"):
        fast_loss(ours, src, src, src)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"decoder_layers": 1}, "expected decoder_layers to be 2, got 1"),
        ({"activation_function": "tanh"}, "expected activation_function to be 'relu' or .*, got 'tanh'"),
        ({"share_encoder_decoder_embeddings": False}, "expected share_encoder_decoder_embeddings to be None or True"),
        ({"normalize_before": True}, "expected normalize_before to be None or False, got True"),
        ({"scale_embedding": False}, "expected scale_embedding to be True, got False"),
    ],
    ids=str,
)
def test_marian_with_other_parts_is_refused(fields, words, tmp_path):
    small_marian(tmp_path)
    change_config(tmp_path, **fields)
    with pytest.raises(ValueError, match=words):
        marian(tmp_path)
