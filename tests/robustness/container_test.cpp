// Damaged packages and encrypted models, and options of custom operators in damaged files.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/host/crypto.h"
#include "compiler/espdl/package.h"
#include "compiler/write/writer.h"
#include "inference/custom.h"
#include "inference/host/encrypted_model.h"
#include "inference/host/engine.h"
#include "tests/compiler/import/espdl/package_builder.h"
#include "tests/compiler/import/espdl/tiny_model.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/mutate.h"
#include "tests/robustness/originals.h"

namespace runnel::test {
namespace {

using Bytes = std::vector<std::byte>;

#define NEEDS_CRYPTO() \
  if (!crypto::available()) GTEST_SKIP() << "SKIPPED: this build has no mbedTLS"

const crypto::Key& key() {
  static const crypto::Key known =
      std::move(crypto::Key::from_hex("00112233445566778899aabbccddeeff")).value();
  return known;
}

Bytes package(const std::string& kind) {
  const std::string magic = kind == "PDL1" ? "EDL1" : "EDL2";
  const Bytes file = tiny_conv().file(magic);
  return make_package(kind, {{"first", file},
                             {"second", crypto::available() ? encrypted_espdl(file, key()) : file},
                             {"third", file}});
}

// A PDL3 without a new checksum fails there: done only now and then.
void survives(const std::string& kind, std::uint64_t seed) {
  const Bytes original = package(kind);
  std::vector<Spot> header;
  for (std::size_t at = kind == "PDL3" ? 20 : 4; at < (kind == "PDL3" ? 60u : 8u) + 36; at += 4) {
    if (kind != "PDL3" || at < 24 || at >= 56) header.push_back({at, 4});
  }
  Mutator mutator(original, seed);
  const char* const members[] = {"first", "1", "third", ""};
  int refused = 0, passed = 0;
  for (int i = 0; i < 6000; ++i) {
    Bytes damaged = i % 2 == 0 ? mutator.next() : mutator.next(header);
    if (i % 16 != 0) seal_package(damaged);
    const Status status = feed_espdl(
        damaged, compiler::EspdlOptions{
                     .target = compiler::EspdlTarget::c, .member = members[i / 2 % 4], .key = key()});
    (failed_with_a_sentence(status) ? refused : passed) += 1;
  }
  EXPECT_GT(refused, 3000);
  EXPECT_GT(passed, 100) << "damage elsewhere must not matter to a member that is whole";
}

TEST(DamagedPackage, First) { survives("PDL1", 31); }
TEST(DamagedPackage, Second) { survives("PDL2", 32); }
TEST(DamagedPackage, Third) {
  NEEDS_CRYPTO();
  survives("PDL3", 33);
}

// Counter mode passes every change on to the payload.
TEST(DamagedEncryptedEspdl, Mutations) {
  NEEDS_CRYPTO();
  for (const char* magic : {"EDL1", "EDL2"}) {
    Mutator mutator(encrypted_espdl(tiny_conv().file(magic), key()), 34);
    int refused = 0;
    for (int i = 0; i < 4000; ++i) {
      refused +=
          failed_with_a_sentence(feed_espdl(
              mutator.next(), compiler::EspdlOptions{.target = compiler::EspdlTarget::c, .key = key()}))
              ? 1
              : 0;
    }
    EXPECT_GT(refused, 1500);
  }
}

TEST(DamagedEncryptedModel, NothingButTheOriginalOpens) {
  NEEDS_CRYPTO();
  const Bytes original = *encrypt_model(digits_rnl(), key());
  ASSERT_TRUE(OwnedModel::from_bytes(original, {}, &key()).ok());
  Mutator mutator(original, 35);
  for (int i = 0; i < 4000; ++i) {
    const Bytes damaged = mutator.next();
    if (damaged == original) continue;
    ASSERT_TRUE(failed_with_a_sentence(OwnedModel::from_bytes(damaged, {}, &key()).status()))
        << "mutation " << i;
  }
}

Status check_nothing(const Model&, const fb::Operator&) noexcept { return {}; }

// Reads the attributes of an accepted file, as a definition would.
std::size_t read_attributes(const Model& model) {
  std::size_t seen = 0;
  for (int i = 0; i < model.operator_count(); ++i) {
    const fb::Operator& op = model.op(i);
    seen += operator_type(op).size();
    const CustomAttributes attributes(op);
    for (const char* name : {"list", "curve", "mode", "none"}) {
      seen += attributes.has(name) ? 1 : 0;
      for (const std::int64_t value : attributes.integers(name)) seen += value != 0 ? 1 : 0;
      for (const float value : attributes.numbers(name)) seen += value != 0 ? 1 : 0;
      for (const char letter : attributes.text(name)) seen += letter != 0 ? 1 : 0;
      seen += attributes.integer(name, 1).ok() ? 1 : 0;
    }
  }
  return seen;
}

TEST(DamagedCustomOperator, AttributesOfWhatIsLetIn) {
  static const OperatorDefinition definition{OpCode::custom, Arithmetic{1}, "Mine",
                                             check_nothing,  nullptr,       nullptr};
  std::vector<const OperatorDefinition*> table(all_operators().begin(), all_operators().end());
  table.push_back(&definition);
  compiler::Graph graph;
  for (const char* name : {"x", "y"}) {
    compiler::Tensor tensor;
    tensor.name = name;
    tensor.shape = {1, 4, 2};
    tensor.dtype = DType::float32;
    graph.tensors.push_back(tensor);
  }
  graph.inputs = {0};
  graph.outputs = {1};
  compiler::Node node;
  node.code = OpCode::custom;
  node.inputs = {0};
  node.outputs = {1};
  node.options = compiler::CustomOptions{"Mine",
                                         {{"list", std::vector<std::int64_t>{1, 2, 3}},
                                          {"curve", std::vector<float>{1, 2}},
                                          {"mode", std::string("fast")}}};
  graph.nodes = {node};
  compiler::WriteOptions write;
  write.operators = table;
  write.blocks.clear();
  const auto written = compiler::write_model(graph, write);
  ASSERT_TRUE(written.ok()) << written.status().text();
  Mutator mutator(written->bytes, 36);
  int refused = 0;
  std::size_t seen = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto model = OwnedModel::from_bytes(mutator.next(), ModelOptions{.check_crc = false});
    if (failed_with_a_sentence(model.status()))
      ++refused;
    else
      seen += read_attributes((*model)->model());
  }
  EXPECT_GT(refused, 5000);
  EXPECT_GT(seen, 1000u);
}

}  // namespace
}  // namespace runnel::test
