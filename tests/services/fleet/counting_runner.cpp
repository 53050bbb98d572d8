#include "tests/services/fleet/counting_runner.h"

#include "base/host/sealed_state.h"

namespace runnel::fleet::test {
namespace {

class CountingRun final : public Run {
 public:
  CountingRun(std::string_view name, std::uint32_t identity, std::int64_t first)
      : name_(name), seal_{"RNLCOUNT", identity}, sum_(identity), heard_(first) {}
  void hear(std::span<const std::byte> samples) {
    for (const std::byte one : samples) {
      sum_ = (sum_ + std::to_integer<std::uint64_t>(one)) * 0x9E3779B97F4A7C15 + 1;
      ++heard_;
      if (sum_ >> 58 == 0) say("event");
    }
  }
  void lose(std::int64_t samples) override {
    say("gap of " + std::to_string(samples));
    heard_ += samples;
  }
  Status end() override {
    say("end");
    return {};
  }
  Result<std::vector<std::byte>> save() override {
    const auto state = [&](StateArchive& archive) { this->state(archive); };
    std::vector<std::byte> out(sealed_bytes(state));
    RUNNEL_TRY(save_sealed(out, seal_, state));
    return out;
  }
  Status restore(std::span<const std::byte> from) override {
    bool changed = false;
    return restore_sealed(
        from, seal_, [&](StateArchive& archive) { state(archive); }, changed);
  }
  std::string take() override { return std::exchange(lines_, {}); }

 private:
  void state(StateArchive& archive) noexcept {
    archive.value(sum_);
    archive.index(heard_);
  }
  void say(const std::string& what) {
    lines_ += name_ + ' ' + what + " at " + std::to_string(heard_) + ": " + std::to_string(sum_) + '\n';
  }
  std::string name_, lines_;
  Seal seal_;
  std::uint64_t sum_;
  std::int64_t heard_;
};

}  // namespace

Result<std::unique_ptr<Run>> CountingRunner::start(std::string_view name, const serve::SampleFormat&,
                                                   std::int64_t first) {
  return std::unique_ptr<Run>(std::make_unique<CountingRun>(name, identity_, first));
}

void CountingRunner::hear(std::span<Turn> turns) {
  for (Turn& turn : turns) static_cast<CountingRun*>(turn.run)->hear(turn.samples);
}

}  // namespace runnel::fleet::test
