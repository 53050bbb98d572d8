// Streams that cost nothing: an event now and then, whose text depends on every sample before it.
#pragma once

#include "services/fleet/runner.h"

namespace runnel::fleet::test {

class CountingRunner final : public Runner {
 public:
  explicit CountingRunner(std::uint32_t identity = 1) : identity_(identity) {}
  [[nodiscard]] std::uint32_t identity() const noexcept override { return identity_; }
  Result<std::unique_ptr<Run>> start(std::string_view name, const serve::SampleFormat& format,
                                     std::int64_t first) override;
  void hear(std::span<Turn> turns) override;

 private:
  std::uint32_t identity_;
};

// Those that a test gives.
struct SomeRunners final : Runners {
  std::vector<CountingRunner> all;
  Runner* find(std::uint32_t identity) override {
    for (CountingRunner& one : all)
      if (one.identity() == identity) return &one;
    return nullptr;
  }
};

}  // namespace runnel::fleet::test
