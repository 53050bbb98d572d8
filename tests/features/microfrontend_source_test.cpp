// A fixed-point front end whose tables were written as C++ and compiled into this program.
#include "features/host/microfrontend_source.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/host/heap_memory.h"
#include "features/microfrontend/microfrontend.h"
#include "tests/features/fbank_source_options.h"
#include "written_down.h"

namespace runnel::features {
namespace {

std::vector<std::uint16_t> frames_of(Microfrontend& front_end, const std::vector<std::int16_t>& samples) {
  std::vector<std::uint16_t> frames(front_end.max_frames(samples.size()) * front_end.dims());
  const Microfrontend::Step step = front_end.push(samples, frames);
  EXPECT_EQ(step.samples, samples.size());
  frames.resize(step.frames * front_end.dims());
  return frames;
}

TEST(MicrofrontendSource, GivesTheFramesOfItsOptions) {
  const MicrofrontendOptions options = written_down_microfrontend();
  for (const MicrofrontendParameter& parameter : microfrontend_parameters()) {
    EXPECT_EQ(parameter.get(WrittenMicrofrontend::kOptions), parameter.get(options)) << parameter.name;
  }
  std::vector<std::int16_t> samples(8000);
  std::uint32_t state = 3;
  for (std::int16_t& sample : samples)
    sample = static_cast<std::int16_t>((state = state * 1664525U + 1013904223U) >> 18);
  HeapMemory constant, made;
  Result<Microfrontend> written = Microfrontend::make(WrittenMicrofrontend::kOptions,
                                                      WrittenMicrofrontend::kTables, best_isa(), constant);
  Result<Microfrontend> computed = Microfrontend::make(options, best_isa(), made);
  ASSERT_TRUE(written.ok()) << written.status().text();
  ASSERT_TRUE(computed.ok()) << computed.status().text();
  EXPECT_EQ(constant.used(), Microfrontend::state_bytes_of(options));
  const std::vector<std::uint16_t> frames = frames_of(*written, samples);
  EXPECT_GT(frames.size(), 1000U);
  EXPECT_EQ(frames, frames_of(*computed, samples));
}

TEST(MicrofrontendSource, RefusesWhatCannotBeMade) {
  MicrofrontendOptions options;
  options.high_freq = 8000;
  EXPECT_NE(microfrontend_source(options, "X").status().text().find("high_freq"), std::string_view::npos);
}

}  // namespace
}  // namespace runnel::features
