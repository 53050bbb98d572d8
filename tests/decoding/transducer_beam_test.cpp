#include "decoding/transducer_beam.h"

#include <gtest/gtest.h>

#include "base/host/heap_memory.h"
#include "tests/decoding/lattice.h"

namespace runnel::decoding::test {
namespace {

// A table for a model: logits of every frame after every context.
class TableModel final : public TransducerModel {
 public:
  TableModel(std::mt19937& random, std::int32_t frames, std::int32_t classes, std::int32_t context)
      : classes_(classes), context_(context) {
    std::size_t contexts = 1;
    for (std::int32_t i = 0; i < context; ++i) contexts *= static_cast<std::size_t>(classes);
    std::normal_distribution<float> normal(0, 1.5F);
    for (std::size_t i = 0; i < static_cast<std::size_t>(frames) * contexts; ++i) {
      rows_.emplace_back();
      for (std::int32_t c = 0; c < classes; ++c) rows_.back().push_back(normal(random));
    }
    contexts_ = contexts;
  }

  void predict(std::span<const std::int32_t> tokens, std::span<float> to) noexcept override {
    ++predictions;
    to[0] = static_cast<float>(number_of(tokens));
  }
  std::span<const float> join(std::span<const float> frame,
                              std::span<const float> predicted) noexcept override {
    return rows_[static_cast<std::size_t>(frame[0]) * contexts_ + static_cast<std::size_t>(predicted[0])];
  }
  [[nodiscard]] double log(std::int32_t frame, const Tokens& tokens, std::int32_t token) const {
    Tokens context(static_cast<std::size_t>(context_), 0);
    context.insert(context.end(), tokens.begin(), tokens.end());
    const std::size_t number = number_of(std::span(context).last(static_cast<std::size_t>(context_)));
    FrameScores scores;
    EXPECT_TRUE(
        scores.read(rows_[static_cast<std::size_t>(frame) * contexts_ + number], FrameScores::Kind::logits));
    return static_cast<double>(scores.log(token)) / kLogOne;
  }
  [[nodiscard]] std::int32_t best(std::int32_t frame, const Tokens& tokens) const {
    Tokens context(static_cast<std::size_t>(context_), 0);
    context.insert(context.end(), tokens.begin(), tokens.end());
    const std::vector<float>& row =
        rows_[static_cast<std::size_t>(frame) * contexts_ +
              number_of(std::span(context).last(static_cast<std::size_t>(context_)))];
    return static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
  }
  void spoil(std::size_t row) { rows_[row][0] = std::nanf(""); }
  int predictions = 0;

 private:
  [[nodiscard]] std::size_t number_of(std::span<const std::int32_t> tokens) const {
    std::size_t number = 0;
    for (const std::int32_t token : tokens)
      number = number * static_cast<std::size_t>(classes_) + static_cast<std::size_t>(token);
    return number;
  }
  std::int32_t classes_, context_;
  std::size_t contexts_ = 1;
  std::vector<std::vector<float>> rows_;
};

TransducerSettings settings_for(std::int32_t classes, std::int32_t beam, std::int32_t context) {
  TransducerSettings settings;
  settings.classes = classes;
  settings.beam = beam;
  settings.context = context;
  settings.predicted = 1;
  settings.max_tokens = 64;
  return settings;
}

Tokens heard_by(const TransducerBeam& beam) {
  std::vector<HeardToken> found(64);
  found.resize(beam.best(true, found));
  Tokens tokens;
  for (const HeardToken& one : found) tokens.push_back(one.token);
  return tokens;
}

void run(TransducerBeam& beam, std::int32_t from, std::int32_t to) {
  for (std::int32_t t = from; t < to; ++t) {
    const float frame[] = {static_cast<float>(t)};
    ASSERT_TRUE(beam.step(frame, t));
  }
}

// Every choice of every frame.
void try_all(const TableModel& model, std::int32_t t, std::int32_t frames, std::int32_t classes,
             const Tokens& tokens, double log, std::map<Tokens, double>& found) {
  if (t == frames) {
    const auto [place, is_new] = found.emplace(tokens, log);
    if (!is_new) place->second = add_logs(place->second, log);
    return;
  }
  for (std::int32_t c = 0; c < classes; ++c) {
    Tokens next = tokens;
    if (c != 0) next.push_back(c);
    try_all(model, t + 1, frames, classes, next, log + model.log(t, tokens, c), found);
  }
}

TEST(TransducerBeam, EqualsBruteForceOnRandomModels) {
  std::mt19937 random(1);
  int clear = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto classes = 2 + static_cast<std::int32_t>(random() % 3);
    const auto frames = 1 + static_cast<std::int32_t>(random() % 5);
    const auto context = 1 + static_cast<std::int32_t>(random() % 2);
    TableModel model(random, frames, classes, context);
    HeapMemory memory;
    TransducerBeam beam;
    ASSERT_TRUE(beam.prepare(memory, settings_for(classes, 400, context), model).ok());
    run(beam, 0, frames);
    std::map<Tokens, double> all;
    try_all(model, 0, frames, classes, {}, 0, all);
    Tokens best;
    double highest = -INFINITY, second = -INFINITY;
    for (const auto& [tokens, log] : all) {
      if (log > highest) {
        second = highest;
        highest = log;
        best = tokens;
      } else {
        second = std::max(second, log);
      }
    }
    ASSERT_NEAR(static_cast<double>(beam.score(true)) / kLogOne, highest, 2e-3);
    if (highest - second > 2e-3) {
      ++clear;
      ASSERT_EQ(heard_by(beam), best) << "model " << i;
    }
  }
  EXPECT_GT(clear, 1900);
}

TEST(TransducerBeam, OneHypothesisIsGreedy) {
  std::mt19937 random(2);
  for (int i = 0; i < 8000; ++i) {
    const auto classes = 2 + static_cast<std::int32_t>(random() % 4);
    const auto frames = 1 + static_cast<std::int32_t>(random() % 12);
    TableModel model(random, frames, classes, 2);
    HeapMemory memory;
    TransducerBeam beam;
    ASSERT_TRUE(beam.prepare(memory, settings_for(classes, 1, 2), model).ok());
    run(beam, 0, frames);
    Tokens expected;
    for (std::int32_t t = 0; t < frames; ++t) {
      const std::int32_t best = model.best(t, expected);
      if (best != 0) expected.push_back(best);
    }
    ASSERT_EQ(heard_by(beam), expected);
    EXPECT_EQ(model.predictions, 1 + static_cast<int>(expected.size()))
        << "the decoder runs for new tokens alone";
  }
}

TEST(TransducerBeam, IsSavedAndRestored) {
  std::mt19937 random(3);
  TableModel model(random, 30, 4, 2);
  HeapMemory memory;
  TransducerBeam whole;
  ASSERT_TRUE(whole.prepare(memory, settings_for(4, 5, 2), model).ok());
  run(whole, 0, 30);
  for (std::int32_t at = 0; at <= 30; ++at) {
    TransducerBeam before, after;
    ASSERT_TRUE(before.prepare(memory, settings_for(4, 5, 2), model).ok());
    ASSERT_TRUE(after.prepare(memory, settings_for(4, 5, 2), model).ok());
    run(before, 0, at);
    std::vector<std::byte> bytes(before.saved_bytes());
    before.save(bytes);
    ASSERT_TRUE(after.restore(bytes).ok());
    run(after, at, 30);
    EXPECT_EQ(heard_by(after), heard_by(whole));
    EXPECT_EQ(after.score(true), whole.score(true)) << "bit for bit";
    for (int i = 0; i < 200; ++i) {
      std::vector<std::byte> damaged = bytes;
      for (int k = 0; k < 3; ++k)
        damaged[random() % std::min<std::size_t>(damaged.size(), 900)] ^=
            static_cast<std::byte>(1U << random() % 8);
      static_cast<void>(after.restore(damaged));
      run(after, 0, 3);
    }
  }
}

TEST(TransducerBeam, TheNextUtteranceGoesOnOrBeginsAnew) {
  std::mt19937 random(4);
  TableModel model(random, 20, 4, 2);
  HeapMemory memory;
  TransducerBeam whole, cut, fresh;
  for (TransducerBeam* beam : {&whole, &cut, &fresh})
    ASSERT_TRUE(beam->prepare(memory, settings_for(4, 1, 2), model).ok());
  run(whole, 0, 20);
  run(cut, 0, 10);
  Tokens joined = heard_by(cut);
  cut.next_utterance(true);
  run(cut, 10, 20);
  for (const std::int32_t token : heard_by(cut)) joined.push_back(token);
  EXPECT_EQ(joined, heard_by(whole)) << "with its context an utterance goes on as if it had not ended";
  run(fresh, 10, 20);
  cut.next_utterance(false);
  run(cut, 10, 20);
  EXPECT_EQ(heard_by(cut), heard_by(fresh));
}

TEST(TransducerBeam, RefusesLogitsThatAreNoNumbers) {
  std::mt19937 random(5);
  TableModel model(random, 2, 3, 1);
  model.spoil(3);
  model.spoil(4);
  model.spoil(5);
  HeapMemory memory;
  TransducerBeam beam;
  ASSERT_TRUE(beam.prepare(memory, settings_for(3, 2, 1), model).ok());
  run(beam, 0, 1);
  const Tokens before = heard_by(beam);
  const std::int64_t score = beam.score(true);
  const float frame[] = {1};
  EXPECT_FALSE(beam.step(frame, 1));
  EXPECT_EQ(heard_by(beam), before);
  EXPECT_EQ(beam.score(true), score);
}

}  // namespace
}  // namespace runnel::decoding::test
