"""What sounds like a phrase and is not: its words alone, in another order, doubled, beside other words, and words that sound nearly like them."""
import re
import shutil
import subprocess
from functools import cached_property
from pathlib import Path

HERE = Path(__file__).resolve().parent
SIMILAR = 60  # words for each word of the phrase


def distance(a, b, limit):
    """The least number of sounds that are changed, left out or put in between two sequences; `limit` + 1 if it is more than `limit`."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
        if min(row) > limit:
            return limit + 1
    return row[-1]


def as_spoken(words):
    """What espeak-ng makes of each word, without stress; the words themselves where it is not installed."""
    if not shutil.which('espeak-ng'):
        return list(words)
    said = subprocess.run(['espeak-ng', '-q', '-x', '-v', 'en-us'], input='\n\n'.join(words), check=True, capture_output=True, text=True).stdout.split('\n')
    said = [re.sub("[ ',_:]", '', line) for line in said if line.strip()]
    return said if len(said) == len(words) else list(words)


class Phrase:
    """A phrase of words of letters, and what is drawn near it. `book`: pronunciations (lexicon.Lexicon); a word that is not in it is compared by its
    letters."""

    def __init__(self, text, book):
        self.words = text.lower().split()
        wrong = [w for w in self.words if not re.fullmatch(r"[a-z']+", w)]
        if wrong or not 1 <= len(self.words) <= 6:
            raise SystemExit(f'the phrase "{text}": expected one to six words of the letters a to z, found {wrong[0] if wrong else len(self.words)}')
        self.text, self.book = ' '.join(self.words), book
        self.common = (HERE.parent / 'kit/words.txt').read_text(encoding='utf-8').split()
        self.any = sorted(w for w, said in book.words.items() if w.isascii() and w.isalpha() and 3 <= len(w) <= 9 and len(said) == 1)

    @cached_property
    def like(self):
        """For each word of the phrase those that sound nearly like it."""
        return [self.similar(w) for w in self.words]

    def similar(self, word):
        """The words that sound nearest to `word`, and not like it."""
        own = self.book.words.get(word)
        mine = own or [list(word)]
        limit, sounds, found = 2 + (len(mine[0]) > 4), {p for m in mine for p in m}, []
        for other in self.any:
            if other == word:
                continue
            theirs = self.book.words[other][0] if own else other
            if sum(p not in sounds for p in theirs) > limit:
                continue
            if found_at := min(distance(m, theirs, limit) for m in mine):
                if found_at <= limit:
                    found.append((found_at, other))
        # A synthesizer may speak a rare word as `word` itself (zero, xero).
        nearest = [w for _, w in sorted(found)[:2 * SIMILAR]]
        said = dict(zip([word, *nearest], as_spoken([word, *nearest])))
        return [w for w in nearest if said[w] != said[word]][:SIMILAR] or self.common

    def other(self, random):
        words = self.common if random.random() < 0.5 else self.any
        return words[int(random.integers(len(words)))]

    def sentence(self, random, least=5, most=9):
        """Words in any order, the phrase not among them."""
        return self.without([self.other(random) for _ in range(int(random.integers(least, most + 1)))], random)

    def near(self, random):
        """One to six words near the phrase."""
        kind, mine = random.random(), list(self.words)
        at = int(random.integers(len(mine)))
        like = self.like[at][int(random.integers(len(self.like[at])))]
        if kind < 0.16:
            words = [mine[at]]
        elif kind < 0.24:
            words = [mine[i] for i in random.permutation(len(mine))]
        elif kind < 0.30:
            words = [mine[at]] * 2
        elif kind < 0.48:
            words = mine[:at] + [like] + mine[at + 1:]
        elif kind < 0.64:
            words = mine[:at] + [self.other(random)] + mine[at + 1:]
        elif kind < 0.74:
            words = [some[int(random.integers(len(some)))] for some in self.like]
        elif kind < 0.82:
            words = [like]
        else:
            words = [self.other(random) for _ in range(int(random.integers(1, 3)))] + [mine[at]] + [self.other(random) for _ in range(int(random.integers(0, 3)))]
        return self.without(words, random)

    def without(self, words, random):
        """`words` as text; where the phrase is in them, by letters or by sound, what sounds like its last word is replaced."""
        while self.within(' '.join(words)):
            words = [self.other(random) if self.same(w, self.words[-1]) else w for w in words]
        return ' '.join(words)

    def same(self, a, b):
        """Whether two words are one, or may be spoken alike."""
        return a == b or any(said in self.book.words.get(b, []) for said in self.book.words.get(a, []))

    def within(self, text):
        """Whether `text` has the phrase, as it is written or as it sounds."""
        theirs, count = text.split(), len(self.words)
        return any(all(self.same(a, b) for a, b in zip(theirs[i:i + count], self.words)) for i in range(len(theirs) - count + 1))
