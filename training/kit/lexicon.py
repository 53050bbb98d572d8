"""Pronunciations. A lexicon file has a word and its phones on each line; a word may have several lines, and "#" begins a comment."""
import re
from pathlib import Path


class Lexicon:
    def __init__(self, path):
        self.words = {}
        for line in Path(path).read_text(encoding='utf-8').splitlines():
            if line.startswith('#') or not line.strip():
                continue
            word, *phones = line.split()
            self.words.setdefault(re.sub(r'\(\d+\)$', '', word.lower()), []).append(phones)

    def __contains__(self, word):
        return word in self.words

    def phones(self, text, random=None):
        """The phones of a text, of the first pronunciation of each word or of any; KeyError names a word that has none."""
        out = []
        for word in text.split():
            found = self.words[word]
            out += found[0] if random is None or len(found) == 1 else found[random.integers(len(found))]
        return out
