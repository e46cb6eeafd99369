"""Multiple choice: the same likelihoods as scoring every choice by itself."""

from dataclasses import replace

import numpy as np
import pytest

from fedrand.choices import choice_scores
from fedrand.score import token_scores


@pytest.fixture
def questions(examples):
    """Questions of differing length and number of choices."""
    choices = [("a cat", "a red dog and a cat"), ("dog", "cat", "a short image"), ("a", "an image of a blue dog")]
    return [
        replace(one, prompt="{image} {question} Answer:", question="What?" * (number % 2), choices=choices[number % 3])
        for number, one in enumerate(examples)
    ]


def test_every_choice_has_the_likelihood_it_has_as_the_answer(engine, questions):
    vlm, _, features = engine
    found = choice_scores(vlm, features, questions, batch_size=3)
    for question, scores in zip(questions, found, strict=True):
        answers = [replace(question, answer=choice) for choice in question.choices]
        seen = [s.logp.sum() for s in token_scores(vlm, features, [vlm.encode(answer) for answer in answers])]
        blind = [vlm.encode(answer, with_image=False) for answer in answers]
        alone = [s.logp.sum() for s in token_scores(vlm, features, blind)]
        assert scores.id == question.id
        assert scores.raw == pytest.approx(seen, abs=1e-4)
        assert scores.pmi == pytest.approx(np.subtract(seen, alone), abs=1e-4)


def test_a_question_without_an_image_gains_nothing_from_it(engine, questions):
    vlm, _, features = engine
    (scores,) = choice_scores(vlm, features, [replace(questions[0], image=None)])
    assert not scores.pmi.any()
