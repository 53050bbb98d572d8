// Trees of FlatBuffers: what is read and written again says the same; damaged bytes are read safely.
#include "tests/robustness/structure/flatbuffer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "compiler/import/espdl/importer.h"
#include "tests/compiler/import/espdl/tiny_model.h"
#include "tests/compiler/import/pte/program_maker.h"
#include "tests/robustness/feed.h"
#include "tests/robustness/foreign.h"
#include "tests/robustness/mutate.h"
#include "tests/robustness/originals.h"
#include "tests/robustness/structure/schemas.h"

namespace runnel::test {
namespace {

using Span = std::span<const std::byte>;

// The tree of the rewritten file gives the same bytes again.
void expect_stable(const flat::Format& format, Span file, Span identifier) {
  const flat::TablePointer first = flat::read(format, file);
  ASSERT_NE(first, nullptr);
  const Bytes once = flat::write(*first, identifier);
  const flat::TablePointer second = flat::read(format, once);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(flat::write(*second, identifier), once);
}

TEST(FlatTree, ReadsAndWritesEveryFormat) {
  const Bytes rnl = digits_rnl(), espdl = tiny_conv().file(), pte = tiny_program().file();
  expect_stable(flat::rnl_format(), rnl, Span(rnl).subspan(4, 4));
  expect_stable(flat::espdl_format(), Span(espdl).subspan(16), {});
  expect_stable(flat::pte_format(), pte, Span(pte).subspan(4, 4));
  for (const ForeignFile& file : tflite_originals())
    expect_stable(flat::tflite_format(), file.bytes, Span(file.bytes).subspan(4, 4));
}

TEST(FlatTree, WhatIsWrittenAgainIsTheSameModel) {
  const Bytes rnl = digits_rnl();
  const flat::TablePointer root = flat::read(flat::rnl_format(), rnl);
  ASSERT_NE(root, nullptr);
  Bytes again = flat::write(*root, Span(rnl).subspan(4, 4));
  for (flat::Slot& slot : root->slots) {
    auto* const number = std::get_if<flat::Inline>(&slot.value);
    if (number == nullptr || slot.field->name()->string_view() != "bytes") continue;
    const std::uint64_t size = again.size();
    std::memcpy(number->bytes.data(), &size, 8);
  }
  again = flat::write(*root, Span(rnl).subspan(4, 4));
  // Its test vectors are compared, too; checksums are of other bytes.
  const Status status = feed_model(again, false);
  EXPECT_TRUE(status.ok()) << status.text();
  for (const ForeignFile& file : tflite_originals()) {
    const flat::TablePointer tree = flat::read(flat::tflite_format(), file.bytes);
    ASSERT_NE(tree, nullptr);
    const Status read = feed_foreign(flat::write(*tree, Span(file.bytes).subspan(4, 4)));
    EXPECT_TRUE(read.ok()) << file.name << ": " << read.text();
  }
}

TEST(FlatTree, DamagedBytesAreReadSafely) {
  const Bytes rnl = digits_rnl();
  Mutator mutator(rnl, 5);
  int read = 0;
  for (int i = 0; i < 300; ++i) {
    const Bytes bytes = mutator.next();
    if (const flat::TablePointer tree = flat::read(flat::rnl_format(), bytes)) {
      ++read;
      EXPECT_FALSE(flat::write(*tree, {}).empty());
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_LT(read, 300);
  for (std::size_t size = 0; size < rnl.size(); size += 1 + size / 16)
    static_cast<void>(flat::read(flat::rnl_format(), Span(rnl).first(size)));
}

}  // namespace
}  // namespace runnel::test
