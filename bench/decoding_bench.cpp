// Searches of decoders of speech, per frame: a line per case on stdout, microseconds of one thread's
// processor time.
//   taskset -c 1 build/bench/decoding_bench [SECONDS]
//
// The frames are an utterance of random words of the lexicon, with noise on every logit, so that hypotheses
// compete.
#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "base/host/heap_memory.h"
#include "bench/interleaved.h"
#include "decoding/greedy_ctc.h"
#include "decoding/host/search_tables.h"
#include "decoding/prefix_beam.h"

namespace runnel::bench {
namespace {

using namespace decoding;

// One of the cases: a vocabulary, its frames, and a search that starts anew after each of them.
struct Subject {
  std::vector<std::string> pieces;
  std::vector<std::string_view> views;
  Vocabulary vocabulary;
  std::vector<std::vector<float>> frames;
  std::vector<std::string> words;
};

Subject subject_of(std::int32_t classes, std::size_t word_count, std::uint32_t seed) {
  Subject subject;
  std::mt19937 random(seed);
  subject.pieces.emplace_back("<blk>");
  for (std::int32_t c = 1; c < classes; ++c)
    subject.pieces.push_back(c < 27 ? std::string(1, static_cast<char>('a' + c - 1))
                                    : "x" + std::to_string(c));
  subject.views.assign(subject.pieces.begin(), subject.pieces.end());
  subject.vocabulary = {subject.views, 0, Units::joined};
  for (std::size_t i = 0; i < word_count; ++i) {
    std::string word;
    for (std::size_t n = 3 + random() % 6; n > 0; --n) word += static_cast<char>('a' + random() % 26);
    subject.words.push_back(word);
  }
  std::normal_distribution<float> noise(0, 1.5F);
  while (subject.frames.size() < 400) {
    for (const char letter : subject.words[random() % word_count]) {
      for (const std::int32_t token : {0, letter - 'a' + 1, letter - 'a' + 1}) {
        auto& frame = subject.frames.emplace_back();
        for (std::int32_t c = 0; c < classes; ++c)
          frame.push_back(noise(random) + (c == token ? 8.0F : 0.0F));
      }
    }
  }
  return subject;
}

template <class Search>
void run(const Subject& subject, Search& search) {
  search.restart();
  for (std::size_t t = 0; t < subject.frames.size(); ++t) {
    FrameScores scores;
    if (!scores.read(subject.frames[t], FrameScores::Kind::logits)) std::abort();
    search.step(scores, static_cast<std::int32_t>(t));
  }
}

void check(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "decoding_bench: {}\n", status.text());
  std::exit(1);
}

int bench(double seconds) {
  const Subject letters = subject_of(32, 100, 1), pieces = subject_of(500, 100, 2);
  const Speller speller(letters.vocabulary);
  const auto made = make_word_graph(any_of(letters.words), nullptr, speller);
  check(made.status());
  const std::vector<std::string_view> words(made->words.begin(), made->words.end());
  const WordGraph graph{made->nodes, made->arcs, words, 0};
  HeapMemory memory;
  GreedyCtc greedy_letters, greedy_pieces;
  check(greedy_letters.prepare(memory, 0, 512));
  check(greedy_pieces.prepare(memory, 0, 512));
  BeamSettings settings;
  settings.classes = 32;
  settings.graph = &graph;
  PrefixBeam commands, free;
  check(commands.prepare(memory, settings));
  settings.graph = nullptr;
  settings.classes = 500;
  settings.candidates = 16;
  check(free.prepare(memory, settings));
  Interleaved cases;
  cases.add(
      "greedy, 32 tokens", [&] { run(letters, greedy_letters); }, static_cast<double>(letters.frames.size()));
  cases.add(
      "beam 8, 32 tokens, 100 words", [&] { run(letters, commands); },
      static_cast<double>(letters.frames.size()));
  cases.add(
      "greedy, 500 tokens", [&] { run(pieces, greedy_pieces); }, static_cast<double>(pieces.frames.size()));
  cases.add(
      "beam 8, 500 tokens, 16 of them", [&] { run(pieces, free); },
      static_cast<double>(pieces.frames.size()));
  const auto times = cases.run(seconds);
  for (const std::string& name : cases.names()) fmt::print("{:32} {:8.3f} us\n", name, times.at(name).median);
  fmt::print("graph of 100 words: {} nodes, {} arcs, {} bytes\n", graph.nodes.size(), graph.arcs.size(),
             graph.nodes.size_bytes() + graph.arcs.size_bytes());
  return 0;
}

}  // namespace
}  // namespace runnel::bench

int main(int count, char** arguments) {
  return runnel::bench::bench(count > 1 ? std::atof(arguments[1]) : 2);
}
