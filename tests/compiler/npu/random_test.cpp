// Random layers and small networks: compiled, judged, simulated, equal to the CPU byte for byte; whole and
// streamed.
#include <gtest/gtest.h>

#include "tests/compiler/npu/on_npu.h"
#include "tests/compiler/npu/random_network.h"

namespace runnel::test {
namespace {

class RandomNetworks : public testing::TestWithParam<Generation> {};
// How many; the long program has its own number, and a name of its own, because CTest knows tests by name.
#ifdef RUNNEL_NPU_NETWORKS
INSTANTIATE_TEST_SUITE_P(Many, RandomNetworks, testing::Values(kU55AndU65, kU85), name_of);
#else
#define RUNNEL_NPU_NETWORKS 240
INSTANTIATE_TEST_SUITE_P(Some, RandomNetworks, testing::Values(kU55AndU65, kU85), name_of);
#endif
constexpr std::uint32_t kNetworks = RUNNEL_NPU_NETWORKS, kStreams = kNetworks / 8;

const char* mode_of(std::uint32_t seed) { return kMemoryModes[seed / 7 % 3]; }

TEST_P(RandomNetworks, GiveTheBytesOfTheCpu) {
  std::int64_t layers = 0, left = 0;
  for (std::uint32_t seed = 0; seed < kNetworks; ++seed) {
    const compiler::Graph graph = random_network({seed % 2 == 1, false, GetParam().newest, true}, seed);
    const char* accelerator = GetParam().of(seed);
    compiler::ethos_u::CompiledGraph compiled;
    const Status status = compare_whole(graph, npu_options(accelerator, mode_of(seed)), seed, 1, &compiled);
    // Networks of nothing that the NPU has a form of are refused with that reason.
    if (status.code() == Code::unsupported &&
        status.text().find("no operator can be computed") != std::string_view::npos)
      continue;
    ASSERT_TRUE(status.ok()) << "seed " << seed << ", " << accelerator << ": " << status.text();
    for (const auto& node : compiled.nodes) {
      ++layers;
      if (node.segment < 0) ++left;
    }
  }
  // A comparison with the CPU alone says nothing.
  EXPECT_LT(left * 5, layers) << left << " of " << layers << " layers stayed on the CPU";
}

// Padding after the end with a stride and no delay: of a recording that ends inside a block, frames after
// its end must not count.
TEST_P(RandomNetworks, EndInsideABlock) {
  const std::uint32_t seed = 1001024;
  const compiler::Graph graph = random_network({true, true}, seed);
  auto options = npu_options(GetParam().of(1));
  options.block = compiler::ethos_u::Options::kSmallestBlock;
  const Status status = compare_streamed(graph, options, 31, seed);
  EXPECT_TRUE(status.ok()) << status.text();
}

TEST_P(RandomNetworks, GiveTheBytesOfTheCpuInStreams) {
  std::uint32_t compared = 0;
  for (std::uint32_t seed = 0; seed < kStreams; ++seed) {
    const compiler::Graph graph =
        random_network({seed % 2 == 1, true, GetParam().newest, true}, 1000003u + seed);
    auto options = npu_options(GetParam().of(seed), mode_of(seed));
    options.block = compiler::ethos_u::Options::kSmallestBlock;
    const Status status = compare_streamed(graph, options, 30 + seed % 17, seed);
    // What cannot be stepped is refused; what is not refused is exact.
    if (status.code() == Code::unsupported) continue;
    ASSERT_TRUE(status.ok()) << "seed " << 1000003u + seed << ", " << options.program.accelerator->name
                             << ": " << status.text();
    ++compared;
  }
  EXPECT_GT(compared * 2, kStreams) << "of " << kStreams;
}

}  // namespace
}  // namespace runnel::test
