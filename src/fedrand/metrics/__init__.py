"""Scores of generated text: caption metrics and exact match. Pure functions of strings, no Java, no model."""

from .accuracy import AnswerScores, answer_scores, option_letter, picked_option, text_accuracy
from .bleu import Bleu, bleu_scores
from .captions import CaptionScores, caption_scores
from .cider import Cider, cider_scores
from .rouge import rouge_l
from .tokenizer import tokenize

__all__ = [
    "AnswerScores",
    "Bleu",
    "CaptionScores",
    "Cider",
    "answer_scores",
    "bleu_scores",
    "caption_scores",
    "cider_scores",
    "option_letter",
    "picked_option",
    "rouge_l",
    "text_accuracy",
    "tokenize",
]
