#include "pipeline/nodes/decode/ctc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/host/heap_memory.h"
#include "pipeline/transcript.h"
#include "tests/pipeline/node_context.h"
#include "tests/pipeline/support.h"
#include "tests/support/allocations.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

using runnel::test::TemporaryFolder;
using Json = nlohmann::json;

GraphOptions with_tick(std::int64_t tick) { return {.nodes = test_nodes(), .tick = tick}; }

// Frames of rows are [160 t, 160 t + 400) at 16 kHz: 10 ms apart.
class CtcNode : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name) << text;
    return (folder_.path() / name).string();
  }
  // The records of a run over `values`.
  std::vector<Json> records(const std::string& parameters, std::int32_t dims,
                            const std::vector<float>& values, std::int64_t tick = 7) {
    return records_of_text("rows ! ctc " + parameters, dims, values, tick);
  }
  std::vector<Json> records_of_text(const std::string& text, std::int32_t dims,
                                    const std::vector<float>& values, std::int64_t tick) {
    Rows::dims = dims;
    Rows::values = values;
    const std::string path = (folder_.path() / "out.jsonl").string();
    run_graph(text + " ! jsonl path=" + path, with_tick(tick));
    lines_ = read_text(path);
    std::vector<Json> all;
    std::istringstream in(lines_);
    for (std::string line; std::getline(in, line);) all.push_back(Json::parse(line));
    return all;
  }
  std::string failure(const std::string& parameters, std::int32_t dims,
                      const std::vector<float>& values = {}) {
    Rows::dims = dims;
    Rows::values = values.empty() ? std::vector<float>(static_cast<std::size_t>(dims), 0.0F) : values;
    return failure_of("rows ! ctc " + parameters + " ! keep", with_tick(7));
  }

  TemporaryFolder folder_;
  std::string lines_;
};

// Posteriors: a digit per frame, token with 0.9.
std::vector<float> said(const std::string& frames, std::int32_t dims, float sure = 0.9F) {
  std::vector<float> values;
  for (const char frame : frames)
    for (std::int32_t c = 0; c < dims; ++c)
      values.push_back(c == frame - '0' ? sure : (1 - sure) / static_cast<float>(dims - 1));
  return values;
}

std::vector<float> random_logits(std::int32_t frames, std::int32_t dims, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values;
  for (std::int32_t t = 0; t < frames; ++t)
    for (std::int32_t c = 0; c < dims; ++c) values.push_back(normal(random) + (c == 0 ? 4 : 0));
  return values;
}

TEST_F(CtcNode, GivesWordsWithTheirTimesAndConfidences) {
  const std::string tokens = file("tokens.txt", "<blk> 0\n▁he 1\nllo 2\n▁you 3\n");
  const auto all = records("activation=none partials=0 tokens=" + tokens, 4, said("00110223300", 4));
  ASSERT_EQ(all.size(), 1U);
  const Json& one = all[0];
  EXPECT_EQ(one["type"], "final");
  EXPECT_EQ(one["source"], "rows");
  EXPECT_EQ(one["segment"], 0);
  EXPECT_EQ(one["text"], "hello you");
  EXPECT_EQ(one["stable"], 2);
  EXPECT_EQ(one["start"], 0.02);
  // Frame 8 ends with sample 8 * 160 + 400.
  EXPECT_EQ(one["end"], 0.105);
  ASSERT_EQ(one["words"].size(), 2U);
  EXPECT_EQ(one["words"][0]["word"], "hello");
  EXPECT_EQ(one["words"][0]["start"], 0.02);
  EXPECT_EQ(one["words"][0]["end"], 0.085);
  EXPECT_EQ(one["words"][0]["confidence"], 0.9);
  EXPECT_EQ(one["words"][1]["start"], 0.07);
  ASSERT_EQ(one["tokens"].size(), 3U);
  EXPECT_EQ(one["tokens"][1]["token"], "llo");
  EXPECT_EQ(one["tokens"][1]["start"], 0.05);
}

TEST_F(CtcNode, MakesWordsOfCharactersOrWholeWords) {
  const std::string characters = file("c.txt", "a 1\nb 2\n| 3\n<pad> 0\n");
  EXPECT_EQ(records("activation=none partials=0 tokens=" + characters, 4, said("1233110203", 4))[0]["text"],
            "ab ab");
  const std::string words = file("w.txt", "_\nzero\none\nturn on\n");
  EXPECT_EQ(records("activation=none partials=0 tokens=" + words, 4, said("11012033", 4))[0]["text"],
            "zero zero one turn on");
  const std::string joined = file("j.txt", "_\na\nb\nc\n");
  EXPECT_EQ(records("activation=none partials=0 tokens=" + joined, 4, said("1020330", 4))[0]["text"], "abc");
  EXPECT_EQ(
      records("activation=none partials=0 units=words tokens=" + joined, 4, said("1020330", 4))[0]["text"],
      "a b c");
}

TEST_F(CtcNode, PartialResultsSettle) {
  const std::string tokens = file("tokens.txt", "<blk>\n▁he\nllo\n▁you\n");
  const auto all = records("activation=none partials=10ms tokens=" + tokens, 4, said("01102233", 4));
  std::vector<std::string> seen;
  for (const Json& one : all)
    seen.push_back(one["type"].get<std::string>() + " " + one["text"].get<std::string>() + " " +
                   one["stable"].dump());
  EXPECT_EQ(seen, (std::vector<std::string>{"partial he 0", "partial hello 0", "partial hello you 1",
                                            "final hello you 2"}));
}

// Results, partial ones too, are the same bytes for any block size.
TEST_F(CtcNode, AnyBlockSizeGivesTheSameRecords) {
  std::string list = "<blk>\n";
  for (const char* piece : {"▁a", "b", "c", "▁ab", "▁c", "d", "▁d", "a"}) list += std::string(piece) + "\n";
  const std::string tokens = " tokens=" + file("tokens.txt", list), hot = file("hot.txt", "ab d :3\nc\n"),
                    words = file("words.txt", "ab\nabc\nc\ncab\nd\n"),
                    commands = file("g.txt", "(ab | abc) c [d]\n(c | cab)+ d\n");
  const std::vector<float> logits = random_logits(900, 9);
  for (const std::string& mode :
       {std::string("mode=greedy"), std::string("mode=beam"), "mode=beam hotwords=" + hot,
        "mode=beam lexicon=" + words, "mode=beam beam=20 grammar=" + commands + " hotwords=" + hot}) {
    const std::string parameters =
        mode + tokens + " silence_after=60ms silence_before=100ms longest=500ms partials=30ms max_tokens=20";
    std::string expected;
    std::size_t finals = 0, partials = 0;
    for (const Json& one : records(parameters, 9, logits, 1)) ++(one["type"] == "final" ? finals : partials);
    expected = lines_;
    EXPECT_GT(finals, 10U) << mode;
    EXPECT_GT(partials, 10U) << mode;
    for (const std::int64_t tick : {2, 8, 50, 1000}) {
      records(parameters, 9, logits, tick);
      EXPECT_EQ(lines_, expected) << mode << " in blocks of " << tick;
    }
  }
}

// What is stable in a partial result is so in the final one of its segment.
TEST_F(CtcNode, StableWordsStay) {
  const std::string tokens = file("tokens.txt", "<blk>\n▁a\nb\n▁c\n▁ab\nd\n");
  for (const std::string mode : {"greedy", "beam"}) {
    const auto all = records("partials=10ms silence_after=100ms mode=" + mode + " tokens=" + tokens, 6,
                             random_logits(600, 6));
    std::size_t stable = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::size_t final = i;
      while (all[final]["type"] != "final") ++final;
      EXPECT_EQ(all[final]["segment"], all[i]["segment"]);
      const auto count = all[i]["stable"].get<std::size_t>();
      ASSERT_LE(count, all[final]["words"].size());
      for (std::size_t w = 0; w < count; ++w)
        EXPECT_EQ(all[i]["words"][w]["word"], all[final]["words"][w]["word"]);
      if (final != i) stable += count;
    }
    EXPECT_GT(stable, 100U) << mode;
  }
}

std::vector<std::string> texts(const std::vector<Json>& all) {
  std::vector<std::string> found;
  for (const Json& one : all) found.push_back(one["text"].get<std::string>());
  return found;
}
using Texts = std::vector<std::string>;

TEST_F(CtcNode, UtterancesEndAtSilencesAndLengths) {
  const std::string common = "activation=none partials=0 tokens=" + file("t.txt", "_\nyes\nno\n") + " ";
  const auto one = [&](const std::string& parameters, const std::string& frames) {
    return texts(records(common + parameters, 3, said(frames, 3)));
  };
  EXPECT_EQ(one("silence_after=30ms", "110002200011"), (Texts{"yes", "no", "yes"}));
  EXPECT_EQ(one("silence_after=30ms", "1100220011"), (Texts{"yes no yes"}));
  EXPECT_EQ(one("silence_after=0 longest=50ms", "1100220011"), (Texts{"yes no", "yes"}))
      << "no token twice that goes on over the end";
  EXPECT_EQ(one("max_tokens=2", "1010101"), (Texts{"yes yes", "yes yes"}));
  EXPECT_EQ(one("endpoint=none", "1100000000000000220"), (Texts{"yes no"}));
  const auto all = records(common + "silence_after=30ms", 3, said("110002200011", 3));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]["segment"], i);
}

TEST_F(CtcNode, AVoiceDetectorEndsUtterances) {
  const std::string parameters =
      "activation=none partials=0 endpoint=voice silence_after=20ms voice_threshold=0.4 tokens=" +
      file("t.txt", "_\nyes\nno\n");
  std::vector<float> values;
  const std::string frames = "1100220011", voice = "1111110111";
  const std::vector<float> posteriors = said(frames, 3);
  const auto with_voice = [&](const std::string& heard) {
    values.clear();
    for (std::size_t t = 0; t < frames.size(); ++t) {
      values.insert(values.end(), posteriors.begin() + static_cast<std::ptrdiff_t>(3 * t),
                    posteriors.begin() + static_cast<std::ptrdiff_t>(3 * t + 3));
      values.push_back(heard[t] == '1' ? 0.5F : 0.3F);
    }
    return texts(records(parameters, 4, values));
  };
  EXPECT_EQ(with_voice("1111111111"), (Texts{"yes no yes"})) << "blanks are no silence";
  EXPECT_EQ(with_voice("1111110111"), (Texts{"yes no yes"}));
  EXPECT_EQ(with_voice("1111110011"), (Texts{"yes no", "yes"}));
  EXPECT_EQ(with_voice("1000110011"), (Texts{"yes", "no", "yes"}));
}

// As many results as frames, when every end is as near as it can be.
TEST_F(CtcNode, EveryFrameMayEndAnUtterance) {
  const std::string parameters =
      "activation=none partials=10ms silence_after=10ms silence_before=10ms endpoint=voice tokens=" +
      file("t.txt", "_\nyes\nno\n");
  std::vector<float> values;
  for (int t = 0; t < 40; ++t) {
    const std::vector<float> frame = {0.1F, t % 2 == 0 ? 0.8F : 0.1F, t % 2 == 0 ? 0.1F : 0.8F, 0};
    values.insert(values.end(), frame.begin(), frame.end());
  }
  const std::string expected = (records(parameters, 4, values, 1), lines_);
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 40);
  for (const std::int64_t tick : {3, 100}) {
    records(parameters, 4, values, tick);
    EXPECT_EQ(lines_, expected);
  }
}

TEST_F(CtcNode, AGrammarGoesOnOrBeginsAnew) {
  const std::string common = "activation=none partials=0 mode=beam silence_after=30ms tokens=" +
                             file("t.txt", "_\nturn\non\noff\n") +
                             " grammar=" + file("g.txt", "turn (on | off)+\n");
  EXPECT_EQ(texts(records(common, 4, said("102000103000", 4))), (Texts{"turn on", "turn off"}));
  EXPECT_EQ(texts(records(common + " reset_decoder=false", 4, said("102000300020000", 4))),
            (Texts{"turn on", "off", "on"}));
  EXPECT_EQ(texts(records(common + " min_confidence=0.3", 4, said("102000300020000", 4))), (Texts{"turn on"}))
      << "\"off\" is no command";
  EXPECT_EQ(texts(records(common, 4, said("102000000000000", 4))), (Texts{"turn on"}))
      << "silence is no command either";
}

TEST_F(CtcNode, HotwordsChangeWhatTheirScoresSay) {
  const std::string common = "activation=none partials=0 mode=beam tokens=" + file("t.txt", "_\n▁a\n▁b\n");
  std::vector<float> values = {0.02F, 0.58F, 0.4F};
  // ln(0.58 / 0.4) = 0.3716.
  EXPECT_EQ(texts(records(common, 3, values)), (Texts{"a"}));
  EXPECT_EQ(texts(records(common + " hotwords=" + file("h.txt", "b :0.37\n"), 3, values)), (Texts{"a"}));
  EXPECT_EQ(texts(records(common + " hotwords=" + file("h.txt", "b :0.373\n"), 3, values)), (Texts{"b"}));
  EXPECT_EQ(texts(records(common + " hotword_score=0.373 hotwords=" + file("h.txt", "b\n"), 3, values)),
            (Texts{"b"}));
}

TEST_F(CtcNode, FramesWithoutNumbersAreBlanksOrRefused) {
  const std::string common = "activation=none partials=0 tokens=" + file("t.txt", "_\nyes\nno\n");
  std::vector<float> values = said("1100", 3);
  values[3 * 1 + 2] = std::nanf("");
  Rows::dims = 3;
  Rows::values = values;
  std::vector<std::string> notes;
  GraphOptions options = with_tick(7);
  options.note = [&](std::string_view note) { notes.emplace_back(note); };
  run_graph("rows ! ctc " + common + " ! keep", options);
  EXPECT_EQ(Keep::labels, (Texts{"yes"}));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0], "ctc: 1 frame with values that are not a number or infinite were taken as blank");
  EXPECT_EQ(failure(common + " non_finite=error", 3, values),
            "ctc: frame 1 has a value that is not a number or plus infinity, or no token that can be; "
            "expected logits");
}

TEST_F(CtcNode, SaysWhatDoesNotFit) {
  const std::string three = file("t3.txt", "<blk> 0\n▁a 1\n▁b 2\n");
  EXPECT_EQ(failure("tokens=" + three, 5), three + ": 3 tokens, but rows gives 5 classes");
  EXPECT_EQ(failure("tokens=" + three + " blank=3", 3),
            "ctc: blank=3: expected a token, or a number from 0 to 2");
  EXPECT_EQ(failure("tokens=" + three + " blank=-1", 3),
            "ctc: blank=-1: expected a token, or a number from 0 to 2");
  EXPECT_EQ(failure("", 3), "ctc: rows gives no labels: expected tokens=FILE, a token a line");
  EXPECT_EQ(failure("tokens=" + three, 1),
            "rows gives 1 values per frame, ctc wants a blank and at least one token");
  EXPECT_EQ(failure("grammar=x tokens=" + three, 3),
            "ctc: mode=greedy takes the best token of every frame: expected mode=beam with lexicon, grammar "
            "or hotwords");
  const std::string beam = "mode=beam tokens=" + three;
  const std::string lexicon = file("words.txt", "a\nabc\n");
  EXPECT_EQ(failure(beam + " lexicon=" + lexicon, 3),
            "ctc: " + lexicon + ", line 2: \"abc\" cannot be spelled: no token fits at \"b\"");
  const std::string grammar = file("g.txt", "<x> = a <x> b | a\n<x>\n");
  EXPECT_NE(
      failure(beam + " grammar=" + grammar, 3).find("leads back to itself, which needs memory without bound"),
      std::string::npos);
  const std::string unspellable = file("g2.txt", "a c\n");
  EXPECT_EQ(failure(beam + " grammar=" + unspellable, 3),
            "ctc: " + unspellable + ": \"c\" cannot be spelled: no token fits at \"c\"");
  const std::string hot = file("h.txt", "c a\n");
  EXPECT_EQ(failure(beam + " hotwords=" + hot, 3),
            "ctc: " + hot + ", line 1: \"c\" cannot be spelled: no token fits at \"c\"");
  EXPECT_NE(failure("tokens=/no/such/file", 3).find("/no/such/file"), std::string::npos);
}

// Integers with an exponent, and labels of the model instead of a file.
TEST(Ctc, TakesIntegersAndLabels) {
  HeapMemory memory;
  NodeContext context = context_for(memory, Kind::frames, 3, 4);
  const std::string_view labels[] = {"_", "yes", "no"};
  context.input.labels = labels;
  context.input.dtype = DType::int8;
  context.input.exponent = -2;
  context.input.clock.sample_rate = 16000;
  Ctc ctc;
  ctc.partials = 0;
  ASSERT_TRUE(ctc.prepare(context).ok());
  EXPECT_EQ(context.output.kind, Kind::events);
  ctc.reset(0);
  const std::int8_t frames[] = {0, 16, 0, 0, 0, 8};
  std::vector<Event> events(static_cast<std::size_t>(context.max_output));
  Output out;
  out.data = reinterpret_cast<std::byte*>(events.data());
  ASSERT_TRUE(ctc.process({reinterpret_cast<const std::byte*>(frames), 2, 0}, out).ok());
  EXPECT_EQ(out.count, 0);
  ASSERT_TRUE(ctc.flush(out).ok());
  ASSERT_EQ(out.count, 1);
  EXPECT_EQ(events[0].label, "yes no");
  // The mean posteriors are those of logits 0, 4, 0 and 0, 0, 2.
  EXPECT_NEAR(events[0].transcript->words[0].confidence, std::exp(4) / (2 + std::exp(4)), 1e-6);
  EXPECT_NEAR(events[0].score, std::exp(2) / (2 + std::exp(2)), 1e-6);
}

TEST(Ctc, ReadsNoFilesOnDevices) {
  HeapMemory memory;
  NodeContext context = context_for(memory, Kind::frames, 3, 4);
  Ctc ctc;
  ctc.tokens = "tokens.txt";
  EXPECT_EQ(ctc.prepare(context).text(),
            "tokens=tokens.txt: node cannot read files in this program, expected the labels of a model");
  Ctc beam;
  beam.mode = "beam";
  beam.lexicon = "words.txt";
  EXPECT_EQ(beam.prepare(context).text(), "node cannot read words.txt in this program");
}

// Lost samples end the utterance; what follows is the result of a stream that begins there, in the next
// segment.
TEST_F(CtcNode, AGapEndsAnUtterance) {
  std::string tokens = "<blk>\n";
  for (int i = 1; i < 80; ++i) tokens += "▁w" + std::to_string(i) + "\n";
  const std::string text =
      "lossy ! fbank num_mel_bins=80 ! ctc partials=30ms mode=beam beam=4 tokens=" + file("t.txt", tokens);
  const auto run = [&](std::int64_t tick, std::vector<Loss> losses) {
    Lossy::sample_rate = 16000;
    Lossy::samples.clear();
    for (const std::int16_t sample : make_samples(9000))
      Lossy::samples.push_back(static_cast<float>(sample) / 32768);
    Lossy::losses = std::move(losses);
    return records_of_text(text, 1, {0}, tick);
  };
  const auto gaps = run(1000, {{3000, 1500}}), fresh = run(1000, {{0, 4500}});
  std::vector<Json> after, alone;
  bool lost = false, final_before = false;
  for (const Json& one : gaps) {
    if (one["type"] == "gap") {
      lost = true;
    } else if (lost) {
      after.push_back(one);
      EXPECT_EQ(after.back()["segment"], 1);
      after.back().erase("segment");
    } else {
      final_before = one["type"] == "final";
    }
  }
  EXPECT_TRUE(lost && final_before);
  for (const Json& one : fresh) {
    if (one["type"] == "gap") continue;
    alone.push_back(one);
    alone.back().erase("segment");
  }
  EXPECT_FALSE(after.empty());
  EXPECT_EQ(after, alone);
  const std::string expected = (run(1000, {{3000, 1500}}), lines_);
  for (const std::int64_t tick : {1, 160, 777}) {
    run(tick, {{3000, 1500}});
    EXPECT_EQ(lines_, expected) << tick;
  }
  Lossy::samples.clear();
  Lossy::losses.clear();
}

TEST_F(CtcNode, RunningAllocatesNothingAndARestartForgets) {
  runnel::test::expect_that_allocations_are_counted();
  std::string tokens = "<blk>\n";
  for (int i = 1; i < 40; ++i) tokens += "▁w" + std::to_string(i) + "\n";
  const std::string path = file("t.txt", tokens), words = file("w.txt", "w1\nw2\nw3\nw17\n");
  for (const std::string& mode : {std::string("greedy"), std::string("beam"), "beam lexicon=" + words}) {
    Rows::dims = 40;
    Rows::values = random_logits(3000, 40);
    GraphOptions options = with_tick(16);
    const auto graph =
        Graph::build("rows ! ctc silence_after=40ms mode=" + mode + " tokens=" + path + " ! null", options);
    ASSERT_TRUE(graph.ok()) << graph.status().text();
    bool done = false;
    for (int i = 0; i < 5; ++i) ASSERT_TRUE((*graph)->executor().step(done).ok());
    const std::size_t before = runnel::test::allocations_of_this_thread();
    while (!done) ASSERT_TRUE((*graph)->executor().step(done).ok());
    EXPECT_EQ(runnel::test::allocations_of_this_thread(), before) << mode;
    EXPECT_GT((*graph)->executor().events(), 5) << mode;
  }
}

// Log-probabilities of a Zipformer that were recorded elsewhere: the node against frames that are decoded
// here.
TEST_F(CtcNode, DecodesRecordedLogProbabilities) {
  RUNNEL_NEEDS_DATA();
  const std::filesystem::path data = runnel::test::data_folder() / "speech/zipformer";
  std::ifstream in(data / "zseq_ort.f32", std::ios::binary);
  std::vector<float> values(33 * 8 * 500);
  in.read(reinterpret_cast<char*>(values.data()),
          static_cast<std::streamsize>(values.size() * sizeof(float)));
  ASSERT_TRUE(in.good());
  std::vector<std::string> pieces(500);
  std::ifstream list(data / "tokens.txt");
  std::string piece;
  for (int number = 0; list >> piece >> number;) pieces[static_cast<std::size_t>(number)] = piece;
  Texts expected;
  std::vector<double> starts;
  std::int64_t before = 0;
  for (std::int64_t t = 0; t < 264; ++t) {
    const auto frame = values.begin() + t * 500;
    const std::int64_t best = std::max_element(frame, frame + 500) - frame;
    if (best != 0 && best != before) {
      expected.push_back(pieces[static_cast<std::size_t>(best)]);
      starts.push_back(static_cast<double>(t * 160) / 16000);
    }
    before = best;
  }
  ASSERT_GT(expected.size(), 10U);
  for (const std::string mode : {"greedy", "beam"}) {
    const auto all =
        records("partials=0 mode=" + mode + " tokens=" + (data / "tokens.txt").string(), 500, values, 50);
    Texts found;
    std::vector<double> found_starts;
    for (const Json& one : all) {
      for (const Json& token : one["tokens"]) {
        found.push_back(token["token"].get<std::string>());
        found_starts.push_back(token["start"].get<double>());
      }
    }
    if (mode == "greedy") {
      EXPECT_EQ(found, expected);
      ASSERT_EQ(found_starts.size(), starts.size());
      for (std::size_t i = 0; i < starts.size(); ++i) EXPECT_NEAR(found_starts[i], starts[i], 0.0006);
    } else {
      EXPECT_GE(found.size(), expected.size() / 2) << "the sum over alignments may have other tokens";
    }
  }
}

}  // namespace
}  // namespace runnel::pipeline::test
