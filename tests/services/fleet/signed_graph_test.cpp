// Models of graphs that travel: a worker with keys takes only those that were signed.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/host/signature.h"
#include "compiler/import/load.h"
#include "inference/host/engine.h"
#include "pipeline/host/registry.h"
#include "services/fleet/graphs/travelling_graph.h"
#include "services/trust/signature_file.h"
#include "tests/services/serve/models.h"
#include "tests/support/data.h"

namespace runnel::fleet {
namespace {

pipeline::GraphOptions graph_options() {
  pipeline::GraphOptions options;
  options.nodes = pipeline::host_nodes();
  options.operators = all_operators();
  return options;
}

class SignedGraph : public testing::Test {
 protected:
  void SetUp() override {
    if (!crypto::can_sign()) GTEST_SKIP() << "SKIPPED: this build has no libsodium";
    model_ = serve::test::model_of(UsageKind::step, folder_.path());
    maker_.emplace(*crypto::SigningKey::make());
  }
  void sign(const crypto::SigningKey& key) const {
    const auto bytes = read_whole_file(model_);
    ASSERT_TRUE(bytes.ok());
    const auto signature = trust::sign_content(*bytes, "model", 1, key);
    ASSERT_TRUE(signature.ok()) << signature.status().text();
    std::ofstream(trust::signature_place(model_), std::ios::binary)
        .write(reinterpret_cast<const char*>(signature->data()),
               static_cast<std::streamsize>(signature->size()));
  }
  [[nodiscard]] TravellingGraph packed() const {
    compiler::FileLoader loader;
    auto graph =
        pack_graph("fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! infer model=" + model_ +
                       " ! detect threshold=0.1 release=0.05 smoothing_frames=1 refractory_frames=1",
                   loader, "a graph");
    EXPECT_TRUE(graph.ok()) << graph.status().text();
    return *std::move(graph);
  }
  // What a worker with the maker's key says of it; empty: it takes it.
  [[nodiscard]] std::string said(const GraphRecord& record,
                                 const std::vector<std::vector<std::byte>>& models) const {
    auto keys = trust::parse_key_list("[key.maker]\npublic = \"" + crypto::hex(*crypto::public_key(*maker_)) +
                                      "\"\n");
    EXPECT_TRUE(keys.ok());
    const auto runner = runner_maker(graph_options(), 4,
                                     std::make_shared<const trust::Trust>(*std::move(keys)))(record, models);
    return runner.ok() ? "" : std::string(runner.status().text());
  }

  runnel::test::TemporaryFolder folder_;
  std::string model_;
  std::optional<crypto::SigningKey> maker_;
};

TEST_F(SignedGraph, TheSignatureTravelsWithTheModel) {
  EXPECT_TRUE(packed().record.models[0].signature.empty());
  EXPECT_NE(
      said(packed().record, packed().models).find("model:0: unsigned, expected a signature of the key maker"),
      std::string::npos);
  sign(*crypto::SigningKey::make());
  EXPECT_NE(said(packed().record, packed().models).find("by another key"), std::string::npos);
  sign(*maker_);
  const TravellingGraph graph = packed();
  const auto there = read_graph_record(text_of(graph.record));
  ASSERT_TRUE(there.ok()) << there.status().text();
  EXPECT_EQ(*there, graph.record);
  EXPECT_EQ(said(*there, graph.models), "");
  auto changed = graph.models;
  changed[0][changed[0].size() / 2] ^= std::byte{1};
  EXPECT_NE(said(*there, changed).find("changed since it was signed"), std::string::npos);
  // Workers without keys take all of them.
  EXPECT_TRUE(runner_maker(graph_options(), 4)(packed().record, packed().models).ok());
}

TEST_F(SignedGraph, ASignatureOfOtherBytesStaysAtHome) {
  sign(*maker_);
  std::ofstream(trust::signature_place(model_), std::ios::binary) << "no signature";
  EXPECT_TRUE(packed().record.models[0].signature.empty());
}

TEST_F(SignedGraph, DamagedSignaturesInRecordsAreRefused) {
  sign(*maker_);
  const std::string text = text_of(packed().record);
  const std::size_t at = text.find("\"signature\":\"") + 13;
  std::string other = text;
  other[at] = 'x';
  EXPECT_FALSE(read_graph_record(other).ok());
  other = text;
  other.erase(at, 2);
  EXPECT_FALSE(read_graph_record(other).ok());
}

}  // namespace
}  // namespace runnel::fleet
