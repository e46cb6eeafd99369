"""Scores of generated text: caption metrics and exact match. Pure functions of strings, no Java, no model."""

from .accuracy import letter_accuracy, option_letter, text_accuracy
from .bleu import Bleu, bleu_scores
from .captions import CaptionScores, caption_scores
from .cider import Cider, cider_scores
from .rouge import rouge_l
from .tokenizer import tokenize

__all__ = [
    "Bleu",
    "CaptionScores",
    "Cider",
    "bleu_scores",
    "caption_scores",
    "cider_scores",
    "letter_accuracy",
    "option_letter",
    "rouge_l",
    "text_accuracy",
    "tokenize",
]
