// A great many damaged messages (tests/robustness/many_mutations.h): each is used, or refused with a
// sentence.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "tests/robustness/many_mutations.h"
#include "tests/services/fleet/feed.h"

namespace runnel::fleet::test {
namespace {

TEST(ManyMutations, OfMessages) {
  // Messages are small: a few seconds are enough for this many.
  ::setenv("RUNNEL_MUTATIONS", "300000", 0);
  std::vector<runnel::test::Subject> all;
  for (const auto& [name, text] : made_messages()) {
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    all.push_back({name, bytes, [](const std::vector<std::byte>& one) { return feed_message(one); }});
  }
  runnel::test::mutate_many(all);
}

}  // namespace
}  // namespace runnel::fleet::test
