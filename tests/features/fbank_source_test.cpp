// A front end whose tables were written as C++ and compiled into this program.
#include "features/host/fbank_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/fbank/fbank.h"
#include "features/fbank/fbank_parameters.h"
#include "tests/features/fbank_source_options.h"
#include "tests/features/streaming.h"
#include "written_down.h"

namespace runnel::features {
namespace {

TEST(FbankSource, GivesTheFramesOfItsOptions) {
  const FbankOptions options = written_down_options();
  for (const Parameter& parameter : parameters()) {
    EXPECT_EQ(parameter.get(WrittenDown::kOptions), parameter.get(options)) << parameter.name;
  }
  std::vector<float> samples(3000);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = std::sin(static_cast<float>(i * i) * 1e-4F);
  HeapMemory memory;
  Result<Fbank> fbank = Fbank::make(WrittenDown::kTables, best_isa(), memory);
  ASSERT_TRUE(fbank.ok()) << fbank.status().text();
  EXPECT_EQ(memory.used(), Fbank::state_bytes_of(options));
  const std::vector<float> got =
      test::run_in_pieces(*fbank, samples, [](std::size_t) { return std::size_t{100}; });
  ASSERT_FALSE(got.empty());
  EXPECT_EQ(got, test::run_whole(options, best_isa(), samples));
}

TEST(FbankSource, RefusesWhatCannotBeWrittenDown) {
  FbankOptions options;
  options.fft = FftChoice::fftw;
  EXPECT_EQ(fbank_source(options, "X").status().text(), "fft=fftw has no tables; expected fft=own");
  EXPECT_EQ(fbank_source(*preset("whisper"), "X").status().text(),
            "log_max=global holds a whole recording; expected log_max=running or fixed");
  options = {};
  options.num_mel_bins = 200;
  EXPECT_NE(fbank_source(options, "X").status().text().find("num_mel_bins 200"), std::string_view::npos);
}

}  // namespace
}  // namespace runnel::features
