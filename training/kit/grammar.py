"""Grammars of commands, in the syntax of docs/decoding.md: reading, drawing phrases, and writing them as JSGF for other programs."""
import re
from pathlib import Path


def tokens_of(text):
    return re.findall(r'<[^>]+>|[()\[\]|*+]|[^\s()\[\]|*+<>]+', text)


def parse(words):
    """A list of alternatives; each is a list of (kind, value), with kind word, rule, group, maybe, many (from 0) or some (from 1)."""
    position = 0

    def alternatives(closing):
        nonlocal position
        found = [[]]
        while position < len(words) and words[position] != closing:
            word = words[position]
            position += 1
            if word == '|':
                found.append([])
            elif word in '([':
                inner = alternatives(')' if word == '(' else ']')
                position += 1
                found[-1].append(('group' if word == '(' else 'maybe', inner))
            elif word in '*+':
                found[-1][-1] = ('many' if word == '*' else 'some', [[found[-1][-1]]])
            else:
                found[-1].append(('rule', word) if word[0] == '<' else ('word', word))
        return found

    return alternatives(None)


class Grammar:
    def __init__(self, path):
        self.rules, self.commands, self.lines = {}, [], []
        for line in Path(path).read_text(encoding='utf-8').splitlines():
            line = line.split('#')[0].strip()
            if not line:
                continue
            rule = re.match(r'(<[^>]+>)\s*=\s*(.*)', line)
            if rule:
                self.rules[rule[1]] = parse(tokens_of(rule[2]))
            else:
                self.commands.append(parse(tokens_of(line)))
                self.lines.append(line)

    def words(self):
        found = set()

        def walk(alternatives):
            for sequence in alternatives:
                for kind, value in sequence:
                    if kind == 'word':
                        found.add(value)
                    elif kind != 'rule':
                        walk(value)
        for part in [*self.rules.values(), *self.commands]:
            walk(part)
        return sorted(found)

    def draw(self, random, command=None, most=7):
        """A phrase, of the command of that number or of any; repetitions have at most `most` parts."""
        def sequence(parts):
            out = []
            for kind, value in parts:
                if kind == 'word':
                    out.append(value)
                elif kind == 'rule':
                    out += choose(self.rules[value])
                elif kind == 'group' or (kind == 'maybe' and random.random() < 0.5):
                    out += choose(value)
                elif kind in ('many', 'some'):
                    for _ in range(random.randint(1 if kind == 'some' else 0, most)):
                        out += choose(value)
            return out

        def choose(alternatives):
            return sequence(random.choice(alternatives))
        return ' '.join(choose(random.choice(self.commands) if command is None else self.commands[command]))

    def phrases(self, limit=100000):
        """Every phrase of the commands without repetitions, in order; commands with them are left out."""
        def expand(parts):
            out = [[]]
            for kind, value in parts:
                if kind == 'word':
                    options = [[value]]
                elif kind in ('many', 'some'):
                    return []
                else:
                    options = [e for a in (self.rules[value] if kind == 'rule' else value) for e in expand(a)]
                    if kind == 'maybe':
                        options.append([])
                out = [o + e for o in out for e in options]
                if len(out) > limit:
                    raise ValueError('the grammar has too many phrases')
            return out
        return [' '.join(e) for c in self.commands for a in c for e in expand(a)]

    def jsgf(self, name='commands'):
        """The same language in the Java Speech Grammar Format, which pocketsphinx reads."""
        def text(alternatives):
            return ' | '.join(' '.join(one(k, v) for k, v in s) for s in alternatives)

        def one(kind, value):
            if kind in ('word', 'rule'):
                return value
            return {'group': '( %s )', 'maybe': '[ %s ]', 'many': '( %s )*', 'some': '( %s )+'}[kind] % text(value)
        rules = [f'{k} = {text(v)};' for k, v in self.rules.items()]
        return '\n'.join(['#JSGF V1.0;', f'grammar {name};', *rules,
                          f'public <{name}> = ' + ' | '.join(f'( {text(c)} )' for c in self.commands) + ';', ''])
