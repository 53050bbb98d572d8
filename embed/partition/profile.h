// A program in ROM without its model: `runnel embed --model-partition` writes it.
#pragma once

#include "embed/partition/image_header.h"
#include "embed/partition/runnel_partition.h"
#include "embed/program.h"

namespace runnel::embed {

// Changes with the struct below.
inline constexpr std::uint32_t kProfileVersion = 1;

}  // namespace runnel::embed

struct runnel_profile {
  std::uint32_t version = runnel::embed::kProfileVersion;
  // Of nodes, operators and sizes: the same in the images of its models.
  runnel::embed::ProfileId id{};
  // Without a model and what makes its loader; labels only where they are not the model's.
  runnel_program program;
};

namespace runnel::embed {

// Whether an image can run with the profile in a partition of `room` bytes. Errors: invalid_data, mismatch,
// out_of_memory.
Status check_image(const ImageHeader& header, const runnel_profile& profile, std::size_t room) noexcept;

// Calls a callback until it is done. Errors: io_error, with what it should do and where.
template <class Call>
Status call_back(Call call, const char* what, std::uint32_t at) noexcept {
  for (std::uint32_t calls = 0; calls < RUNNEL_BUSY_CALLS; ++calls) {
    const int answer = call();
    if (answer == 0) return {};
    if (answer < 0) return Status(Code::io_error) << what << " at " << at << " failed with " << answer;
  }
  return Status(Code::io_error) << what << " at " << at << " is not done after " << RUNNEL_BUSY_CALLS
                                << " calls";
}

}  // namespace runnel::embed
