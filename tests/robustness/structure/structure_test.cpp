// Damage with structure: the same seed gives the same file, any bytes may be given, and most of what comes
// out is a whole container, which the checks behind the first ones see.
#include "tests/robustness/structure/structure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "base/status.h"
#include "compiler/espdl/container.h"
#include "inference/model/verify.h"
#include "npu/decoder.h"
#include "npu/payload.h"
#include "pipeline/host/text.h"
#include "tests/compiler/import/espdl/tiny_model.h"
#include "tests/compiler/import/pte/program_maker.h"
#include "tests/npu/feed.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/foreign.h"
#include "tests/robustness/mutate.h"
#include "tests/robustness/originals.h"
#include "tests/robustness/structure/recordings.h"

namespace runnel::test {
namespace {

using Span = std::span<const std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

struct Original {
  std::string kind;
  Bytes file, other;
};

std::vector<Original> originals() {
  const auto tflite = tflite_originals();
  const auto graphs = graph_texts();
  const auto sounds = recordings();
  const auto programs = made_programs();
  std::vector<Original> all = {
      {"model", digits_rnl(), attention_rnl()},
      {"espdl", tiny_conv().file(), {}},
      {"tflite", tflite[0].bytes, tflite[1].bytes},
      {"pte", tiny_program().file(), {}},
      {"pte", tiny_program().bundle({{{{{4}, {1, 2, 3, 4}}}, {{{4}, {1, 0, 6, 1}}}}}), {}},
      {"graph", bytes_of(graphs[0]), bytes_of(graphs[2])},
      {"npu", programs[0].payload, programs[1].payload},
      {"json",
       bytes_of(
           R"({"rate": 16000, "model": "digits", "list": [1, 2.5, null, true], "deep": {"a": {"b": "c"}}})"),
       {}},
  };
  for (const Recording& sound : sounds) all.push_back({"recording", sound.file, sounds[0].file});
  for (const ForeignFile& file : onnx_originals())
    all.push_back({"onnx", file.bytes, onnx_originals()[0].bytes});
  return all;
}

TEST(Structure, EveryMutantIsMadeAgainFromItsSeed) {
  for (const Original& original : originals()) {
    SCOPED_TRACE(original.kind);
    const ChangeStructure change = structure_of(original.kind);
    ASSERT_NE(change, nullptr);
    int different = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      Random one(seed), two(seed);
      const auto first = change(original.file, original.other, one),
                 second = change(original.file, original.other, two);
      ASSERT_TRUE(first.has_value());
      EXPECT_EQ(first, second);
      different += *first != original.file ? 1 : 0;
    }
    EXPECT_GT(different, 30);
  }
}

// A mutant of a mutant of a mutant, plain damage between them, other kinds of files, nothing at all.
TEST(Structure, AnyBytesMayBeGiven) {
  const auto all = originals();
  for (const Structure& structure : structures()) {
    Random random(3);
    EXPECT_EQ(structure.change({}, {}, random).has_value(), structure.kind == "graph") << structure.kind;
    for (const Original& original : all) {
      Bytes now = original.file.size() < 20000 ? original.file
                                               : Bytes(original.file.begin(), original.file.begin() + 20000);
      for (int i = 0; i < 20; ++i) {
        if (const auto made = structure.change(now, original.file, random)) now = *made;
        if (i % 3 == 2) now = Mutator(now, random.next()).next();
        ASSERT_LT(now.size(), std::size_t{1} << 24) << structure.kind << " of " << original.kind;
      }
    }
  }
}

// Shares of mutants that get behind the first checks, out of 400 from each of the two ways to damage.
struct Shares {
  int structured = 0, plain = 0;
};
Shares shares_of(const Original& original, const std::function<bool(const Bytes&)>& whole) {
  EXPECT_TRUE(whole(original.file)) << original.kind;
  Shares shares;
  Random random(7);
  Mutator mutator(original.file, 7);
  for (int i = 0; i < 400; ++i) {
    const auto made = structure_of(original.kind)(original.file, original.other, random);
    shares.structured += made.has_value() && whole(*made) ? 1 : 0;
    shares.plain += whole(mutator.next()) ? 1 : 0;
  }
  std::printf("%s: %d of 400 mutants with structure get behind the first checks, %d of 400 without\n",
              original.kind.c_str(), shares.structured, shares.plain);
  return shares;
}

TEST(Structure, MostModelsAreWholeContainers) {
  const Shares models = shares_of({"model", attention_rnl(), digits_rnl()},
                                  [](const Bytes& bytes) { return read_container(bytes, false).ok(); });
  EXPECT_GT(models.structured, 280);
  const Shares espdl = shares_of({"espdl", tiny_conv().file(), {}},
                                 [](const Bytes& bytes) { return compiler::EspdlPayload::open(bytes).ok(); });
  EXPECT_GT(espdl.structured, 340);
  // What the verifier refuses is said with these words (compiler/import).
  const auto verified = [](const Bytes& bytes) {
    return feed_foreign(bytes).text().find("not a valid FlatBuffer") == std::string_view::npos;
  };
  const auto tflite = tflite_originals();
  EXPECT_GT(shares_of({"tflite", tflite[0].bytes, tflite[1].bytes}, verified).structured, 360);
  EXPECT_GT(shares_of({"pte", tiny_program().file(), {}}, verified).structured, 360);
}

TEST(Structure, MostStreamsTextsAndMessagesAreWhole) {
  const auto programs = made_programs();
  const Shares npu = shares_of({"npu", programs[0].payload, programs[1].payload},
                               [](const Bytes& bytes) { return npu::read_payload(bytes).ok(); });
  EXPECT_GT(npu.structured, 360);
  // Most words are of nodes and parameters that there are.
  const Shares graphs =
      shares_of({"graph", bytes_of(graph_texts()[1]), bytes_of(graph_texts()[2])}, [](const Bytes& bytes) {
        return pipeline::parse_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).ok();
      });
  EXPECT_GT(graphs.structured, 160);
  if (onnx_originals().empty()) return;
  const Shares onnx =
      shares_of({"onnx", onnx_originals()[0].bytes, onnx_originals()[1].bytes}, [](const Bytes& bytes) {
        Random random(1);
        return change_protobuf(bytes, {}, random).has_value();  // the wire can be read to its end
      });
  EXPECT_GT(onnx.structured, 340);
}

}  // namespace
}  // namespace runnel::test
