// A great many damaged files, as long as time allows: of those whose structure is known every second one is
// damaged with it (structure/structure.h). Each batch has its own seed, printed before it begins, so that
// failures can be reproduced and a run can continue where another one stopped; the last line says how many
// there were, how many in a second of the processor, the longest likewise, and the most memory. An input that
// takes over 20 s of it ends the program:
//
//   RUNNEL_MUTATIONS total number (default: 1,000,000, or what the test says)
//   RUNNEL_MUTATION_SECONDS time limit (default: 420)
//   RUNNEL_MUTATION_SEED      the first batch's seed (default: 1)
//   RUNNEL_MUTATION_SUBJECT   only files whose names contain this (default: all)
//   RUNNEL_MUTATION_BATCH     seconds of the processor after which a batch ends, however many it had
//   (default:
//                             never): with it, large files take no more time than small ones
//   RUNNEL_MUTATION_KEEP      a file to write the input to that took longest
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "tests/robustness/structure/structure.h"

namespace runnel::test {

struct Subject {
  std::string name;
  std::vector<std::byte> file;
  std::function<Status(const std::vector<std::byte>&)> feed;
  ChangeStructure change = nullptr;  // null: damage without structure alone
};

std::int64_t mutation_setting(const char* name, std::int64_t otherwise);
// Test failures if an input is neither read nor refused with a sentence, or if nothing is refused.
// `count` and `seconds`: the defaults of the settings above.
void mutate_many(const std::vector<Subject>& all, std::int64_t count = 1000000, std::int64_t seconds = 420);

}  // namespace runnel::test
