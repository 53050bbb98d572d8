// A great many damaged files, as long as time allows. Each batch has its own seed, printed before it begins,
// so that failures can be reproduced and a run can continue where another one stopped:
//
//   RUNNEL_MUTATIONS total number (default: 1,000,000)
//   RUNNEL_MUTATION_SECONDS time limit (default: 420)
//   RUNNEL_MUTATION_SEED      the first batch's seed (default: 1)
//   RUNNEL_MUTATION_SUBJECT   only files whose names contain this (default: all)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace runnel::test {

struct Subject {
  std::string name;
  std::vector<std::byte> file;
  std::function<Status(const std::vector<std::byte>&)> feed;
};

std::int64_t mutation_setting(const char* name, std::int64_t otherwise);
// Test failures if an input is neither read nor refused with a sentence, or if nothing is refused.
void mutate_many(const std::vector<Subject>& all);

}  // namespace runnel::test
