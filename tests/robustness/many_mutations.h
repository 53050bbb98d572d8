// A great many damaged files, for as long as there is time. Each batch has a seed of its own, printed before
// it begins, so that what goes wrong can be made again and a run can go on where another one stopped:
//
//   RUNNEL_MUTATIONS          how many in all (default: 1,000,000)
//   RUNNEL_MUTATION_SECONDS   when to stop, done or not (default: 420)
//   RUNNEL_MUTATION_SEED      the first batch's seed (default: 1)
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
// Test failures where something is neither read nor refused with a sentence, or nothing is refused.
void mutate_many(const std::vector<Subject>& all);

}  // namespace runnel::test
