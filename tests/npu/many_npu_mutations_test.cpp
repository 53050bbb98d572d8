// A great many damaged command streams (tests/robustness/many_mutations.h).
#include <gtest/gtest.h>

#include "tests/npu/feed.h"
#include "tests/robustness/many_mutations.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

void mutate(const std::vector<Program>& programs) {
  std::vector<Subject> subjects;
  for (const Program& program : programs) {
    subjects.push_back({program.name, program.payload, [&program](const std::vector<std::byte>& bytes) {
                          return feed_payload(program, bytes);
                        }});
  }
  mutate_many(subjects);
}

TEST(ManyNpuMutations, EveryOneIsRefusedOrRun) {
  std::vector<Program> programs = made_programs();
  for (Program& program : real_programs(data_folder())) programs.push_back(std::move(program));
  mutate(programs);
}

TEST(ManyNpuMutations, EveryOneOfTheU85IsRefusedOrRun) {
  RUNNEL_NEEDS_DATA();
  mutate(u85_programs(data_folder()));
}

}  // namespace
}  // namespace runnel::test
