"""Token scores: known answers from hand-made logits, and the same from the model in any batch."""

import math

import numpy as np
import pytest

from fedrand.models.runtime import torch
from fedrand.score import ALPHAS, distributions, each_logp, nll, token_scores

HALVES = torch.tensor([[0.5, 0.25, 0.125, 0.125]]).log()


def test_renyi_entropies_of_a_known_distribution():
    found = distributions(HALVES + 7.0, torch.tensor([0]))
    assert found.renyi[:, 0] == pytest.approx([1.298614, 1.213008, 1.067841, 0.693147], abs=1e-6)
    assert list(ALPHAS) == [0.5, 1.0, 2.0, math.inf]


def test_what_min_k_plus_plus_needs_of_a_known_distribution():
    found = distributions(HALVES.repeat(4, 1), torch.arange(4))
    z = (found.logp - found.mean_logp) / np.sqrt(found.var_logp)
    assert z == pytest.approx([0.904534, -0.301511, -1.507557, -1.507557], abs=1e-5)
    assert found.max_logp == pytest.approx([math.log(0.5)] * 4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_uniform_distribution_over_32000_has_entropy_log_32000_of_every_order(dtype):
    found = distributions(torch.full((2, 32000), 3.0, dtype=dtype), torch.tensor([0, 31999]))
    assert found.renyi == pytest.approx(np.full((4, 2), 10.373491), abs=2e-5)
    assert found.var_logp == pytest.approx([0, 0], abs=1e-9)


@pytest.mark.parametrize("gap", [80.0, 1e4, math.inf])
def test_a_one_hot_distribution_over_32000_has_entropy_zero_of_every_order(gap):
    logits = torch.full((1, 32000), -gap)
    logits[0, 5] = 0.0
    found = distributions(logits, torch.tensor([5]))
    assert found.renyi == pytest.approx(np.zeros((4, 1)), abs=1e-6)
    assert (found.logp, found.mean_logp, found.var_logp) == (pytest.approx([0]), pytest.approx([0]), pytest.approx([0]))


def test_float32_entropies_agree_with_float64(engine, examples):
    logits = torch.randn(50, 32000, generator=torch.Generator().manual_seed(0)) * 5
    near, exact = (distributions(value, torch.zeros(50, dtype=torch.long)) for value in (logits, logits.double()))
    for name, value in vars(near).items():
        assert value == pytest.approx(getattr(exact, name), abs=2e-4), name


def test_likelihoods_alone_are_the_bits_of_the_whole_scores(engine, examples):
    vlm, _, features = engine
    encoded = [vlm.encode(example) for example in examples]
    alone, whole = dict(each_logp(vlm, features, encoded, 5)), token_scores(vlm, features, encoded, 5)
    assert len(alone) == len(whole)
    assert all(np.array_equal(alone[place], score.logp) for place, score in enumerate(whole))


def test_scores_come_in_the_order_given_and_do_not_depend_on_the_batch(engine, examples):
    vlm, _, features = engine
    encoded = [vlm.encode(example) for example in examples]
    together = token_scores(vlm, features, encoded, batch_size=5, prompt=True)
    for example, one, score in zip(examples, encoded, together, strict=True):
        (alone,) = token_scores(vlm, features, [one], prompt=True)
        assert score.id == alone.id == example.id
        assert score.logp.shape == (len(one) - one.answer_start,)
        assert score.renyi.shape == (4, len(score.logp))
        for name, value in vars(score).items():
            assert name == "id" or value == pytest.approx(getattr(alone, name), abs=1e-4), name


def test_scores_are_the_model_s_own_next_token_distributions(engine, examples):
    vlm, _, features = engine
    encoded = vlm.encode(examples[0])
    (score,) = token_scores(vlm, features, [encoded], prompt=True)
    ids = torch.from_numpy(encoded.input_ids)
    with torch.no_grad():
        pixels = vlm.path.pixels([examples[0].image.load()])
        logp = vlm.model(input_ids=ids[None], pixel_values=pixels).logits[0].double().log_softmax(-1)
    own = logp[:-1].gather(-1, ids[1:, None])[:, 0]
    assert score.logp == pytest.approx(own[encoded.answer_start - 1 :].numpy(), abs=1e-4)
    assert score.loss == pytest.approx(-float(score.logp.mean()))
    at = np.flatnonzero(encoded.input_ids == vlm.image_token)
    entropies = -(logp.exp() * logp).sum(-1).numpy()[at]
    assert score.image[1] == pytest.approx(entropies, abs=1e-4)


def test_logits_in_chunks_give_the_same_scores(engine, examples, monkeypatch):
    vlm, _, features = engine
    encoded = [vlm.encode(example) for example in examples]
    whole = token_scores(vlm, features, encoded)
    monkeypatch.setattr("fedrand.score.CELLS", 700)
    for score, chunked in zip(whole, token_scores(vlm, features, encoded), strict=True):
        assert score.logp == pytest.approx(chunked.logp, abs=1e-5)
        assert score.renyi == pytest.approx(chunked.renyi, abs=1e-5)


def test_the_prompts_slices_are_the_image_and_the_text_after_it(engine, examples):
    vlm, _, features = engine
    mixed = [vlm.encode(examples[0]), vlm.encode(examples[1], with_image=False)]
    seen, blind = token_scores(vlm, features, mixed, prompt=True)
    assert seen.image.shape == (4, vlm.path.layout.image_tokens) and blind.image is None
    after = mixed[0].answer_start - 1 - int(np.flatnonzero(mixed[0].input_ids == vlm.path.layout.image_token)[-1])
    assert seen.instruction.shape == (4, after) and blind.instruction.shape == (4, mixed[1].answer_start)
    # the last position of the prompt predicts the answer's first token
    assert seen.instruction[:, -1] == pytest.approx(seen.renyi[:, 0], abs=1e-5)
    assert token_scores(vlm, features, mixed[1:], prompt=True)[0].image is None


def test_the_loss_of_a_set_is_weighted_by_tokens(engine, examples):
    vlm, _, features = engine
    scores = token_scores(vlm, features, [vlm.encode(example) for example in examples])
    counts = [len(score.logp) for score in scores]
    assert nll(scores) == pytest.approx(np.average([score.loss for score in scores], weights=counts))
    assert nll(scores) != pytest.approx(np.mean([score.loss for score in scores]))


def test_with_the_adapter_off_scores_are_the_base_model_s(engine, examples):
    vlm, adapter, features = engine
    encoded = [vlm.encode(example) for example in examples[:3]]
    tuned = nll(token_scores(vlm, features, encoded))
    with adapter.off():
        base = nll(token_scores(vlm, features, encoded))
    adapter.detach()
    assert nll(token_scores(vlm, features, encoded)) == base != tuned
