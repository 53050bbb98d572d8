// A great many damaged command streams (tests/robustness/many_mutations.h).
#include <gtest/gtest.h>

#include "npu/decoder.h"
#include "tests/npu/feed.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/many_mutations.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

void mutate(const std::vector<Program>& programs) {
  std::vector<Subject> subjects;
  for (const Program& program : programs) {
    subjects.push_back(
        {program.name, program.payload,
         [&program](const std::vector<std::byte>& bytes) { return feed_payload(program, bytes); },
         change_npu_stream});
  }
  mutate_many(subjects);
}

TEST(ManyNpuMutations, EveryOneIsRefusedOrRun) {
  std::vector<Program> programs = made_programs();
  for (Program& program : real_programs(data_folder())) programs.push_back(std::move(program));
  mutate(programs);
}

// Every compiled file of every configuration: its payload, and its stream in a payload that states its
// length.
TEST(ManyNpuMutations, EveryTruncationOfEveryStreamOfTheU85IsRefused) {
  RUNNEL_NEEDS_DATA();
  std::int64_t files = 0, payloads = 0, streams = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_folder() / "ethosu85")) {
    if (!entry.path().filename().string().ends_with("_vela.tflite")) continue;
    for (const Program& program : programs_of(entry.path())) {
      SCOPED_TRACE(entry.path().filename().string());
      ++files;
      for (std::size_t size = 0; size < program.payload.size(); ++size, ++payloads)
        ASSERT_FALSE(feed_payload(program, std::span(program.payload).first(size)).ok()) << size << " bytes";
      const auto read = npu::read_payload(program.payload);
      ASSERT_TRUE(read.ok());
      const auto accelerator = npu::find_accelerator(read->config);
      // Decoding begins at the front each time: of long streams some of the cuts.
      const std::size_t step = 1 + read->commands.size() / 2000;
      for (std::size_t words = 0; words < read->commands.size(); words += step, ++streams) {
        npu::Decoder decoder(read->commands.part(0, words), **accelerator);
        npu::Operation op;
        Result<bool> more = true;
        while (more.ok() && *more) more = decoder.next(op);
        ASSERT_TRUE(failed_with_a_sentence(more.status())) << words << " words";
      }
    }
  }
  std::printf("%lld segments, %lld payloads, %lld streams\n", static_cast<long long>(files),
              static_cast<long long>(payloads), static_cast<long long>(streams));
  EXPECT_GT(files, 300);
}

TEST(ManyNpuMutations, EveryOneOfTheU85IsRefusedOrRun) {
  RUNNEL_NEEDS_DATA();
  mutate(u85_programs(data_folder()));
}

}  // namespace
}  // namespace runnel::test
