// Damaged model files.
#include "inference/model/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "inference/model/model_generated.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/mutate.h"
#include "tests/robustness/originals.h"

namespace runnel::test {
namespace {

using Bytes = std::vector<std::byte>;

const Bytes& original() {
  static const Bytes bytes = digits_rnl();
  return bytes;
}

// Every number of a model's graph, plan and test vectors, by walking the tables, without bulk
// data (weights, vectors).
class Numbers {
 public:
  explicit Numbers(const Bytes& file) : file_(file) {
    const auto opened = Model::open(file);
    if (!opened.ok()) {
      ADD_FAILURE() << opened.status().text();
      return;
    }
    for (const fb::Section* section : *fb::GetModel(file.data())->sections()) {
      const std::uint8_t* data = section->data()->data();
      if (section->kind() == fb::SectionKind::graph) graph(*flatbuffers::GetRoot<fb::Graph>(data));
      if (section->kind() == fb::SectionKind::plan) {
        const auto& plan = *flatbuffers::GetRoot<fb::StreamPlan>(data);
        table(&plan);
        block(plan.tensors()->Data(), plan.tensors()->size() * sizeof(fb::StreamTensor), 4);
      }
      if (section->kind() == fb::SectionKind::vectors) vectors(*flatbuffers::GetRoot<fb::Vectors>(data));
      if (section->kind() == fb::SectionKind::pipeline) table(flatbuffers::GetRoot<fb::Pipeline>(data));
    }
  }
  [[nodiscard]] const std::vector<Spot>& spots() const { return spots_; }
  // Those of tensor shapes alone.
  [[nodiscard]] const std::vector<Spot>& shapes() const { return shapes_; }

 private:
  void block(const std::uint8_t* first, std::size_t bytes, std::size_t each) {
    const auto start = static_cast<std::size_t>(first - reinterpret_cast<const std::uint8_t*>(file_.data()));
    for (std::size_t at = 0; at + each <= bytes; at += each) spots_.push_back({start + at, each});
  }
  // The fields stored in a table: each extends to the next one.
  template <class Table>
  void table(const Table* typed) {
    const auto* start = reinterpret_cast<const std::uint8_t*>(typed);
    const auto* virtual_table = reinterpret_cast<const flatbuffers::Table*>(typed)->GetVTable();
    const auto entries =
        flatbuffers::ReadScalar<flatbuffers::voffset_t>(virtual_table) / sizeof(flatbuffers::voffset_t);
    std::vector<std::size_t> ends = {
        flatbuffers::ReadScalar<flatbuffers::voffset_t>(virtual_table + sizeof(flatbuffers::voffset_t))};
    std::vector<std::size_t> starts;
    for (std::size_t i = 2; i < entries; ++i) {
      const auto offset =
          flatbuffers::ReadScalar<flatbuffers::voffset_t>(virtual_table + i * sizeof(flatbuffers::voffset_t));
      if (offset != 0) starts.push_back(offset);
    }
    ends.insert(ends.end(), starts.begin(), starts.end());
    std::sort(ends.begin(), ends.end());
    for (const std::size_t field : starts) {
      const std::size_t size = *std::upper_bound(ends.begin(), ends.end(), field) - field;
      for (const std::size_t each : {8u, 4u, 2u, 1u}) {
        if (each > size) continue;
        block(start + field, size,
              each == 8 && size == 16 ? 8 : each);  // a range: two numbers of eight bytes
        break;
      }
    }
  }
  template <class T>
  void numbers(const flatbuffers::Vector<T>* vector) {
    if (vector != nullptr) block(vector->Data(), vector->size() * sizeof(T), sizeof(T));
  }
  void graph(const fb::Graph& graph) {
    numbers(graph.inputs());
    numbers(graph.outputs());
    for (const fb::Tensor* tensor : *graph.tensors()) {
      table(tensor);
      const std::size_t before = spots_.size();
      numbers(tensor->shape());
      shapes_.insert(shapes_.end(), spots_.begin() + static_cast<std::ptrdiff_t>(before), spots_.end());
      numbers(tensor->exponents());
    }
    for (const fb::Operator* op : *graph.operators()) {
      table(op);
      numbers(op->inputs());
      numbers(op->outputs());
      // Options count several times: they decide which data is read.
      for (int i = 0; i < 4 && op->options() != nullptr; ++i)
        table(static_cast<const flatbuffers::Table*>(op->options()));
    }
  }
  void vectors(const fb::Vectors& vectors) {
    for (const fb::VectorCase* test : *vectors.cases()) {
      for (const auto* list : {test->inputs(), test->outputs()}) {
        for (const fb::VectorTensor* value : *list) {
          table(value);
          numbers(value->shape());
        }
      }
    }
  }

  const Bytes& file_;
  std::vector<Spot> spots_, shapes_;
};

TEST(DamagedModel, OriginalIsWhole) {
  const Status status = feed_model(original(), true);
  EXPECT_TRUE(status.ok()) << status.text();
}

TEST(DamagedModel, EveryTruncationIsRefused) {
  for (std::size_t size = 0; size < original().size(); ++size) {
    const std::span<const std::byte> cut(original().data(), size);
    ASSERT_TRUE(failed_with_a_sentence(feed_model(cut, true))) << size << " bytes";
    ASSERT_TRUE(failed_with_a_sentence(feed_model(cut, false))) << size << " bytes, without checksums";
  }
}

TEST(DamagedModel, ChecksumsFindDamage) {
  Mutator mutator(original(), 1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) refused += failed_with_a_sentence(feed_model(mutator.next(), true)) ? 1 : 0;
  // No checksum covers padding between sections, and a change may restore the original value.
  EXPECT_GT(refused, 19500);
}

TEST(DamagedModel, ChecksAfterTheChecksums) {
  Mutator mutator(original(), 2);
  int refused = 0;
  for (int i = 0; i < 20000; ++i)
    refused += failed_with_a_sentence(feed_model(mutator.next(), false)) ? 1 : 0;
  EXPECT_GT(refused, 2000);
  EXPECT_LT(refused, 20000) << "changed weights must not be refused";
}

TEST(DamagedModel, NumbersOfGraphAndPlan) {
  const Numbers numbers(original());
  ASSERT_GT(numbers.spots().size(), 500u);
  Mutator mutator(original(), 3);
  int refused = 0;
  for (int i = 0; i < 20000; ++i)
    refused += failed_with_a_sentence(feed_model(mutator.next(numbers.spots()), false)) ? 1 : 0;
  EXPECT_GT(refused, 10000);
  EXPECT_LT(refused, 20000);
}

// One number changed in all shapes: such a model is consistent, except for constants.
TEST(DamagedModel, SizesChangedEverywhere) {
  const Numbers numbers(original());
  std::vector<std::int32_t> sizes;
  const auto at = [](Bytes& bytes, const Spot& spot) -> std::int32_t& {
    return *reinterpret_cast<std::int32_t*>(bytes.data() + spot.offset);
  };
  Bytes bytes = original();
  for (const Spot& spot : numbers.shapes()) sizes.push_back(at(bytes, spot));
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  int refused = 0, tried = 0;
  for (const std::int32_t from : sizes) {
    for (const std::int32_t to : {1, 2, 3, 7, 40, 98, 4096, 65535, 65536, 1 << 20, 1 << 24, (1 << 24) + 1,
                                  1 << 30, 2147483647, 0, -1}) {
      bytes = original();
      for (const Spot& spot : numbers.shapes()) {
        if (at(bytes, spot) == from) at(bytes, spot) = to;
      }
      refused += failed_with_a_sentence(feed_model(bytes, false)) ? 1 : 0;
      ++tried;
    }
  }
  EXPECT_GT(refused, tried / 2);
}

TEST(DamagedModel, NeedsAlignment) {
  std::vector<std::byte> room(original().size() + 80);
  auto* start = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;
  std::copy(original().begin(), original().end(), start + 4);
  EXPECT_TRUE(failed_with_a_sentence(Model::open({start + 4, original().size()}).status()));
}

}  // namespace
}  // namespace runnel::test
