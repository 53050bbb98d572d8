#include "services/score/word_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "tests/support/data.h"

namespace runnel::pipeline {
namespace {

using Words = std::vector<std::string>;

Words split(std::string_view text) { return words_in(text, Normalisation::none); }

ErrorCounts counts(std::int64_t units, std::int64_t substitutions, std::int64_t deletions,
                   std::int64_t insertions) {
  return {units, substitutions, deletions, insertions};
}

TEST(WordErrors, CountsByHand) {
  const auto errors = [](std::string_view truth, std::string_view found) {
    return count_errors(split(truth), split(found));
  };
  EXPECT_EQ(errors("a b c", "a b c"), counts(3, 0, 0, 0));
  EXPECT_EQ(errors("a b c", "a x c"), counts(3, 1, 0, 0));
  EXPECT_EQ(errors("a b c", "a c"), counts(3, 0, 1, 0));
  EXPECT_EQ(errors("a b c", "a b x c"), counts(3, 0, 0, 1));
  EXPECT_EQ(errors("a b c", ""), counts(3, 0, 3, 0));
  EXPECT_EQ(errors("", "a b"), counts(0, 0, 0, 2));
  EXPECT_EQ(errors("", ""), counts(0, 0, 0, 0));
  // Either two substitutions, or an insertion and a deletion: the fewest insertions.
  EXPECT_EQ(errors("a b", "b a"), counts(2, 2, 0, 0));
  EXPECT_EQ(errors("the cat sat on the mat", "cat sat on a the mat mat"), counts(6, 0, 1, 2));
}

// All alignments, by trying every step at every place.
void try_all(const Words& truth, const Words& found, std::size_t i, std::size_t j, ErrorCounts so_far,
             const std::function<void(const ErrorCounts&)>& done) {
  if (i == truth.size() && j == found.size()) return done(so_far);
  if (i < truth.size() && j < found.size()) {
    ErrorCounts next = so_far;
    next.substitutions += truth[i] == found[j] ? 0 : 1;
    try_all(truth, found, i + 1, j + 1, next, done);
  }
  if (i < truth.size()) {
    ErrorCounts next = so_far;
    ++next.deletions;
    try_all(truth, found, i + 1, j, next, done);
  }
  if (j < found.size()) {
    ErrorCounts next = so_far;
    ++next.insertions;
    try_all(truth, found, i, j + 1, next, done);
  }
}

TEST(WordErrors, EqualBruteForceOverAllAlignments) {
  std::mt19937 random(1);
  for (int n = 0; n < 2000; ++n) {
    Words truth(random() % 6), found(random() % 6);
    for (Words* words : {&truth, &found})
      for (std::string& word : *words) word = std::string(1, static_cast<char>('a' + random() % 3));
    ErrorCounts best;
    bool any = false;
    try_all(truth, found, 0, 0, {}, [&](const ErrorCounts& one) {
      if (any && std::pair(one.errors(), one.insertions) >= std::pair(best.errors(), best.insertions)) return;
      best = one;
      any = true;
    });
    best.units = static_cast<std::int64_t>(truth.size());
    ASSERT_EQ(count_errors(truth, found), best);
  }
}

TEST(WordErrors, NormalisationsDoWhatTheySay) {
  EXPECT_EQ(words_in("  Hello,  WORLD!\n", Normalisation::basic), (Words{"hello", "world"}));
  EXPECT_EQ(words_in("  Hello,  WORLD!\n", Normalisation::none), (Words{"Hello,", "WORLD!"}));
  EXPECT_EQ(words_in("'don't' it’s ‘so’ twenty-one", Normalisation::basic),
            (Words{"don't", "it's", "so", "twenty", "one"}));
  EXPECT_EQ(words_in("ÜBER ÉTÉ ΩΔ МОСКВА Ёж \xFF", Normalisation::basic),
            (Words{"über", "été", "ωδ", "москва", "ёж", "\xFF"}));
  EXPECT_EQ(words_in("7×8 “quoted” … – –", Normalisation::basic), (Words{"7×8", "quoted"}));
  EXPECT_EQ(characters_in("Äb  c", Normalisation::basic), (Words{"ä", "b", " ", "c"}));
}

RunRecords run_of(const std::vector<std::pair<std::string, std::string>>& results) {
  RunRecords run;
  for (const auto& [source, text] : results) run.events.push_back({source, text, 1, 0, 0});
  return run;
}

TEST(WordErrors, AreCountedByFile) {
  Truth truth;
  truth.rows = {{"a.wav", "one two three", 0, 0}, {"b.wav", "four", 0, 0}, {"c.wav", "five six", 0, 0}};
  const auto errors = count_word_errors(run_of({{"/data/b.wav", "four four"},
                                                {"/data/a.wav", "one"},
                                                {"/data/a.wav", "too three"},
                                                {"x.wav", "y"}}),
                                        truth, {});
  ASSERT_TRUE(errors.ok()) << errors.status().text();
  ASSERT_EQ(errors->files.size(), 3U);
  EXPECT_EQ(errors->files[0].counts, counts(3, 1, 0, 0)) << "the results of a recording in their order";
  EXPECT_EQ(errors->files[1].counts, counts(1, 0, 0, 1));
  EXPECT_EQ(errors->files[2].counts, counts(2, 0, 2, 0)) << "no result";
  EXPECT_EQ(errors->total, counts(6, 1, 2, 1));
  EXPECT_DOUBLE_EQ(errors->rate(), 4.0 / 6);
  EXPECT_EQ(errors->unlabelled, 1);
  const auto json = nlohmann::json::parse(to_json(*errors));
  EXPECT_EQ(json["type"], "wer");
  EXPECT_EQ(json["words"], 6);
  EXPECT_EQ(json["normalisation"], "basic");
  EXPECT_EQ(json["files"][2]["deletions"], 2);
  EXPECT_NE(word_error_table(*errors).find("66.67 %"), std::string::npos);
  WordErrorOptions characters;
  characters.characters = true;
  EXPECT_EQ(count_word_errors(run_of({{"b.wav", "for"}}), truth, characters)->files[1].counts,
            counts(4, 0, 1, 0));
}

TEST(WordErrors, TheIntervalIsThatOfSetsOfRecordings) {
  Truth truth;
  RunRecords run;
  // Ten recordings with one word each, two of them wrong.
  for (int i = 0; i < 10; ++i) {
    const std::string name = std::to_string(i) + ".wav";
    truth.rows.push_back({name, "word", 0, 0});
    run.events.push_back({name, i < 2 ? "other" : "word", 1, 0, 0});
  }
  WordErrorOptions options;
  options.samples = 20000;
  const auto errors = count_word_errors(run, truth, options);
  // The number of wrong ones is binomial with n = 10, p = 0.2: P(0) = 0.107 > 0.025; P(X <= 4) = 0.967, P(X
  // <= 5) = 0.994.
  EXPECT_DOUBLE_EQ(errors->low, 0);
  EXPECT_DOUBLE_EQ(errors->high, 0.5);
  EXPECT_EQ(to_json(*errors), to_json(*count_word_errors(run, truth, options))) << "seeded";
  const auto one = count_word_errors(run_of({{"0.wav", "x"}}), {false, {truth.rows[0]}}, {});
  EXPECT_TRUE(std::isnan(one->low));
  EXPECT_NE(to_json(*one).find("\"low\":null"), std::string::npos);
}

TEST(WordErrors, RefusesWhatDoesNotMatch) {
  Truth truth;
  truth.rows = {{"a.wav", "one", 0, 0}, {"a.wav", "two", 0, 0}};
  EXPECT_EQ(count_word_errors(run_of({{"a.wav", "x"}}), truth, {}).status().text(),
            "the texts name a.wav twice, expected one text per recording");
  truth.rows.pop_back();
  EXPECT_EQ(count_word_errors(run_of({{"b.wav", "x"}}), truth, {}).status().text(),
            "no recording of the results has a text: results are of b.wav, texts of a.wav");
  EXPECT_EQ(count_word_errors({}, truth, {})->total, counts(1, 0, 1, 0));
}

TEST(WordErrors, ReadsFinalResultsAndTables) {
  runnel::test::TemporaryFolder folder;
  const auto records = folder.path() / "run.jsonl", table = folder.path() / "text.tsv";
  std::ofstream(records)
      << R"({"type":"partial","source":"a.flac","segment":0,"start":0,"end":1,"text":"on","words":[]})"
      << '\n'
      << R"({"type":"final","source":"a.flac","segment":0,"start":0,"end":1,"text":"one two","words":[{"word":"one","confidence":0.75},{"word":"two","confidence":0.5}]})"
      << '\n'
      << R"({"type":"summary","audio_seconds":3})" << '\n';
  std::ofstream(table) << "a.flac\tone too\tpublic domain\tsomewhere\nb.flac\tthree\n";
  const auto run = read_records(records);
  ASSERT_TRUE(run.ok()) << run.status().text();
  ASSERT_EQ(run->events.size(), 1U);
  EXPECT_EQ(run->events[0].score, 0.5);
  const auto truth = read_truth(table);
  ASSERT_TRUE(truth.ok()) << truth.status().text();
  ASSERT_EQ(truth->rows.size(), 2U);
  EXPECT_EQ(truth->rows[0].label, "one too");
  EXPECT_EQ(count_word_errors(*run, *truth, {})->total, counts(3, 1, 1, 0));
  std::ofstream(table) << "a.flac\tone\nno tab\n";
  EXPECT_NE(read_truth(table).status().text().find("line 2: expected a file, a tab and its text"),
            std::string::npos);
  std::ofstream(records) << R"({"type":"final","source":"a.flac"})" << '\n';
  EXPECT_NE(
      read_records(records).status().text().find("line 1: a final result needs source, text, start and end"),
      std::string::npos);
}

}  // namespace
}  // namespace runnel::pipeline
