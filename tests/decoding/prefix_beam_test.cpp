#include "decoding/prefix_beam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/host/heap_memory.h"
#include "decoding/host/search_tables.h"
#include "tests/decoding/lattice.h"

namespace runnel::decoding::test {
namespace {

// Errors of the table for sums, of one for each frame and token.
constexpr double kTolerance = 2e-3;

struct Heard {
  Tokens tokens;
  double score = 0;
  std::vector<HeardToken> details;
};

Heard heard_by(const PrefixBeam& beam, bool final = true) {
  std::vector<HeardToken> tokens(64);
  tokens.resize(beam.best(final, tokens));
  Heard heard;
  for (const HeardToken& one : tokens) heard.tokens.push_back(one.token);
  heard.score = static_cast<double>(beam.score(final)) / kLogOne;
  heard.details = tokens;
  return heard;
}

void run(PrefixBeam& beam, const Lattice& lattice, std::int32_t from, std::int32_t to) {
  for (std::int32_t t = from; t < to; ++t) {
    FrameScores scores;
    ASSERT_TRUE(scores.read(lattice.frame(t), FrameScores::Kind::logits));
    beam.step(scores, t);
  }
}

BeamSettings settings_for(std::int32_t classes, std::int32_t beam) {
  BeamSettings settings;
  settings.classes = classes;
  settings.beam = beam;
  settings.max_tokens = 64;
  return settings;
}

// The best of all sequences, each with what `extra` adds; those with minus infinity are not allowed.
struct Best {
  Tokens tokens;
  double score = -INFINITY, second = -INFINITY;
};
Best best_of(const std::map<Tokens, double>& all, const std::function<double(const Tokens&)>& extra) {
  Best best;
  for (const auto& [tokens, log] : all) {
    const double score = log + extra(tokens);
    if (score > best.score) {
      best.second = best.score;
      best.tokens = tokens;
      best.score = score;
    } else {
      best.second = std::max(best.second, score);
    }
  }
  return best;
}

// The search has the best text, or one that is as good within the errors of its sums.
void expect_best(const Heard& heard, const Best& best, const std::map<Tokens, double>& all,
                 const std::function<double(const Tokens&)>& extra, int lattice) {
  ASSERT_NEAR(heard.score, best.score, kTolerance) << "lattice " << lattice;
  if (best.score - best.second > kTolerance) {
    ASSERT_EQ(heard.tokens, best.tokens) << "lattice " << lattice;
  }
  ASSERT_TRUE(all.contains(heard.tokens));
  ASSERT_NEAR(all.at(heard.tokens) + extra(heard.tokens), heard.score, kTolerance);
}

TEST(PrefixBeam, EqualsBruteForceOnRandomLattices) {
  std::mt19937 random(1);
  const auto nothing = [](const Tokens&) { return 0.0; };
  int clear = 0;
  for (int i = 0; i < 10000; ++i) {
    const auto classes = 2 + static_cast<std::int32_t>(random() % 3);
    const auto frames = 1 + static_cast<std::int32_t>(random() % 5);
    const Lattice lattice = random_lattice(random, frames, classes, 1.5F);
    const std::int32_t blank = static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(classes));
    HeapMemory memory;
    PrefixBeam beam;
    BeamSettings settings = settings_for(classes, 400);
    settings.blank = blank;
    settings.max_tokens = 8;
    ASSERT_TRUE(beam.prepare(memory, settings).ok());
    run(beam, lattice, 0, frames);
    const auto all = all_sequences(lattice, blank);
    const Best best = best_of(all, nothing);
    clear += best.score - best.second > kTolerance ? 1 : 0;
    expect_best(heard_by(beam), best, all, nothing, i);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(clear, 9800) << "few lattices have two best texts";
}

// Words over a, b, c = 1, 2, 3; `accepted`: whether a sequence of tokens may be said.
struct Case {
  std::string_view grammar;
  std::function<bool(const std::string&)> accepts;
};

TEST(PrefixBeam, EqualsBruteForceWithGrammarsAndHotwords) {
  const std::string_view pieces[] = {"_", "a", "b", "c"};
  const Vocabulary vocabulary{pieces, 0, Units::joined};
  const Speller speller(vocabulary);
  const auto matches = [](const std::vector<std::string>& language) {
    return [language](const std::string& text) {
      return std::find(language.begin(), language.end(), text) != language.end();
    };
  };
  // Every text of up to five letters over which `ok` holds.
  const auto loop = [](std::vector<std::string> words) {
    return [words](const std::string& text) {
      std::vector<bool> reached(text.size() + 1);
      reached[0] = true;
      for (std::size_t at = 0; at < text.size(); ++at)
        for (const std::string& word : words)
          if (reached[at] && text.compare(at, word.size(), word) == 0) reached[at + word.size()] = true;
      return bool(reached[text.size()]);
    };
  };
  const Case cases[] = {
      {"(a | ab | abc | ca)*", loop({"a", "ab", "abc", "ca"})},
      {"a b\na c [b]\nbb", matches({"ab", "ac", "acb", "bb"})},
      {"(ab | a b | a)* [c]",
       [loop](const std::string& text) {
         const std::string start = text.ends_with('c') ? text.substr(0, text.size() - 1) : text;
         return loop({"ab", "a"})(start);
       }},
      {"a+ b",
       [](const std::string& text) {
         return text.size() > 1 && text.find('b') == text.size() - 1 && text.find('c') == std::string::npos;
       }},
  };
  const auto made_hotwords = parse_hotwords("ab :1.5\nca :2\nbb :-1\n", "hot", 1, vocabulary, speller);
  ASSERT_TRUE(made_hotwords.ok());
  const Hotwords hotwords{made_hotwords->states, made_hotwords->arcs, made_hotwords->start,
                          made_hotwords->whole_words};
  const auto letters = [](const Tokens& tokens) {
    std::string text;
    for (const std::int32_t token : tokens) text += static_cast<char>('a' + token - 1);
    return text;
  };
  const auto hot = [&](const Tokens& tokens) {
    const std::string text = letters(tokens);
    double sum = 0;
    for (std::size_t at = 0; at + 1 < text.size(); ++at)
      sum += text.compare(at, 2, "ab") == 0   ? 1.5
             : text.compare(at, 2, "ca") == 0 ? 2
             : text.compare(at, 2, "bb") == 0 ? -1
                                              : 0;
    return sum;
  };
  std::mt19937 random(2);
  int changed = 0;
  for (int i = 0; i < 4000; ++i) {
    const Case& one = cases[i % 4];
    const auto grammar = parse_grammar(one.grammar, "grammar");
    ASSERT_TRUE(grammar.ok()) << grammar.status().text();
    const auto made = make_word_graph(*grammar, nullptr, speller);
    ASSERT_TRUE(made.ok()) << made.status().text();
    const std::vector<std::string_view> words(made->words.begin(), made->words.end());
    const WordGraph graph{made->nodes, made->arcs, words, 0};
    const auto frames = 1 + static_cast<std::int32_t>(random() % 5);
    const Lattice lattice = random_lattice(random, frames, 4, 1.5F);
    const auto all = all_sequences(lattice, 0);
    const bool with_hotwords = i % 8 >= 4;
    const auto extra = [&](const Tokens& tokens) {
      if (!one.accepts(letters(tokens))) return -INFINITY;
      return static_cast<float>(with_hotwords ? hot(tokens) : 0);
    };
    const auto extra_or_none = [&](const Tokens& tokens) { return static_cast<double>(extra(tokens)); };
    HeapMemory memory;
    PrefixBeam beam;
    BeamSettings settings = settings_for(4, 600);
    settings.max_tokens = 8;
    settings.graph = &graph;
    if (with_hotwords) settings.hotwords = &hotwords;
    ASSERT_TRUE(beam.prepare(memory, settings).ok());
    run(beam, lattice, 0, frames);
    const Best best = best_of(all, extra_or_none);
    const Heard heard = heard_by(beam);
    if (best.score == -INFINITY) {
      EXPECT_TRUE(heard.tokens.empty());
      continue;
    }
    expect_best(heard, best, all, extra_or_none, i);
    if (HasFatalFailure()) return;
    // The words are those of the grammar, with the tokens that were heard.
    std::string spelled;
    for (const HeardToken& token : heard.details)
      if (token.word >= 0) spelled += words[static_cast<std::size_t>(token.word)];
    EXPECT_EQ(spelled, letters(heard.tokens));
    if (with_hotwords) {
      const Best without =
          best_of(all, [&](const Tokens& tokens) { return one.accepts(letters(tokens)) ? 0.0 : -INFINITY; });
      changed += without.tokens != best.tokens ? 1 : 0;
    }
  }
  EXPECT_GT(changed, 100) << "hotwords change texts";
}

TEST(PrefixBeam, ScoresOfHotwordsDecide) {
  const std::string_view pieces[] = {"_", "▁a", "▁b"};
  const Vocabulary vocabulary{pieces, 0, Units::pieces};
  const Speller speller(vocabulary);
  // "a" has 0.7 and "b" 0.3: b wins when its score is more than ln(7/3) = 0.847.
  const Lattice lattice{1, 3, {-60, std::log(0.7F), std::log(0.3F)}};
  for (const auto& [score, expected] : {std::pair{"0.84", 1}, std::pair{"0.85", 2}}) {
    const auto made = parse_hotwords(std::string("b :") + score, "hot", 1, vocabulary, speller);
    const Hotwords hotwords{made->states, made->arcs, made->start, made->whole_words};
    HeapMemory memory;
    PrefixBeam beam;
    BeamSettings settings = settings_for(3, 8);
    settings.hotwords = &hotwords;
    const bool begins[] = {false, true, true};
    settings.begins_word = begins;
    ASSERT_TRUE(beam.prepare(memory, settings).ok());
    run(beam, lattice, 0, 1);
    EXPECT_EQ(heard_by(beam).tokens, Tokens{expected}) << score;
  }
}

TEST(PrefixBeam, NarrowBeamsFindClearTexts) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    Lattice lattice = random_lattice(random, 100, 20, 0.5F);
    Tokens alignment;
    for (std::int32_t t = 0; t < 100; ++t) {
      alignment.push_back(random() % 3 == 0   ? static_cast<std::int32_t>(random() % 20)
                          : alignment.empty() ? 0
                                              : alignment.back());
      lattice.logits[static_cast<std::size_t>(t * 20 + alignment.back())] += 12;
    }
    HeapMemory memory;
    PrefixBeam beam;
    BeamSettings settings = settings_for(20, 4);
    settings.candidates = 3;
    ASSERT_TRUE(beam.prepare(memory, settings).ok());
    run(beam, lattice, 0, 100);
    EXPECT_EQ(heard_by(beam).tokens, collapsed(alignment, 0));
  }
}

TEST(PrefixBeam, SettledTokensStay) {
  std::mt19937 random(6);
  int settled_early = 0;
  for (int i = 0; i < 50; ++i) {
    const Lattice lattice = random_lattice(random, 80, 6, 4);
    HeapMemory memory;
    PrefixBeam beam;
    ASSERT_TRUE(beam.prepare(memory, settings_for(6, 6)).ok());
    std::vector<Tokens> settled;
    for (std::int32_t t = 0; t < 80; ++t) {
      run(beam, lattice, t, t + 1);
      const Heard heard = heard_by(beam, false);
      const std::size_t count = beam.settled(heard.details);
      settled.emplace_back(heard.tokens.begin(), heard.tokens.begin() + static_cast<std::ptrdiff_t>(count));
    }
    const Tokens final = heard_by(beam).tokens;
    for (const Tokens& start : settled) {
      ASSERT_LE(start.size(), final.size());
      EXPECT_TRUE(std::equal(start.begin(), start.end(), final.begin()));
    }
    settled_early += settled[60].size() > 3 ? 1 : 0;
  }
  EXPECT_GT(settled_early, 25);
}

TEST(PrefixBeam, IsSavedAndRestoredInMidWord) {
  std::mt19937 random(7);
  const Lattice lattice = random_lattice(random, 50, 5, 2);
  HeapMemory memory;
  PrefixBeam whole;
  ASSERT_TRUE(whole.prepare(memory, settings_for(5, 8)).ok());
  run(whole, lattice, 0, 50);
  const Heard expected = heard_by(whole);
  ASSERT_GT(expected.tokens.size(), 5U);
  for (std::int32_t at = 0; at <= 50; ++at) {
    PrefixBeam before, after;
    ASSERT_TRUE(before.prepare(memory, settings_for(5, 8)).ok());
    ASSERT_TRUE(after.prepare(memory, settings_for(5, 8)).ok());
    run(before, lattice, 0, at);
    std::vector<std::byte> bytes(before.saved_bytes());
    before.save(bytes);
    ASSERT_TRUE(after.restore(bytes).ok());
    run(after, lattice, at, 50);
    const Heard heard = heard_by(after);
    EXPECT_EQ(heard.tokens, expected.tokens);
    EXPECT_EQ(after.score(true), whole.score(true)) << "bit for bit";
    for (std::size_t i = 0; i < heard.details.size(); ++i) {
      EXPECT_EQ(heard.details[i].first, expected.details[i].first);
      EXPECT_EQ(heard.details[i].confidence, expected.details[i].confidence);
    }
  }
}

// Damaged bytes are refused, or are a state like others: nothing else happens.
TEST(PrefixBeam, DamagedStatesAreRefused) {
  std::mt19937 random(8);
  const Lattice lattice = random_lattice(random, 40, 5, 2);
  HeapMemory memory;
  PrefixBeam beam;
  BeamSettings settings = settings_for(5, 4);
  settings.max_tokens = 20;
  ASSERT_TRUE(beam.prepare(memory, settings).ok());
  run(beam, lattice, 0, 20);
  std::vector<std::byte> sound(beam.saved_bytes());
  beam.save(sound);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes = sound;
    for (int k = 0; k < 4; ++k)
      bytes[random() % std::min<std::size_t>(bytes.size(), 1500)] ^=
          static_cast<std::byte>(1U << random() % 8);
    const Status status = beam.restore(bytes);
    refused += status.ok() ? 0 : 1;
    run(beam, lattice, 20, 30);
    heard_by(beam);
  }
  EXPECT_GT(refused, 1000);
  bool threw = beam.restore(std::span(sound).first(10)).ok();
  EXPECT_FALSE(threw);
}

TEST(PrefixBeam, LongStreamsKeepTheirMemory) {
  // The history is collected over and over; the hypotheses stay as those of a beam with room for all.
  std::mt19937 random(9);
  HeapMemory memory;
  PrefixBeam small;
  BeamSettings settings = settings_for(5, 6);
  settings.max_tokens = 6;
  ASSERT_TRUE(small.prepare(memory, settings).ok());
  PrefixBeam large;
  settings.max_tokens = 1000;
  ASSERT_TRUE(large.prepare(memory, settings).ok());
  int utterances = 0;
  for (int t = 0; t < 5000; ++t) {
    const Lattice lattice = random_lattice(random, 1, 5, 3);
    FrameScores scores;
    ASSERT_TRUE(scores.read(lattice.frame(0), FrameScores::Kind::logits));
    small.step(scores, t);
    large.step(scores, t);
    const auto longest = heard_by(small, false).tokens.size();
    if (longest < 4) {
      ASSERT_EQ(heard_by(small, false).tokens, heard_by(large, false).tokens) << t;
      continue;
    }
    ++utterances;
    small.next_utterance(false);
    large.next_utterance(false);
  }
  EXPECT_GT(utterances, 300);
}

}  // namespace
}  // namespace runnel::decoding::test
