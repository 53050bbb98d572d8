#include "npu/host/weights.h"

#include <bit>
#include <cstring>

#include "npu/bounds.h"

namespace runnel::npu {
namespace {

constexpr std::uint32_t kEndOfStream = 7, kNoZeroRuns = 6, kUncompressed = 7, kMaxDivisor = 5,
                        kMaxZeroDivisor = 3;
constexpr std::int32_t kMaxMagnitude = 255;
constexpr int kSymbols = 12, kFewSymbols = 8;  // in a chunk

// Least significant bit first. Past the end it reads zeros and sets `past`.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint32_t take(std::uint32_t count) {
    std::uint32_t window = 0;
    const std::size_t byte = position_ / 8;
    for (std::size_t i = 0; i < 4 && byte + i < bytes_.size(); ++i)
      window |= std::to_integer<std::uint32_t>(bytes_[byte + i]) << 8 * i;
    const std::uint32_t value = window >> position_ % 8 & ((1u << count) - 1);
    position_ += count;
    return value;
  }
  void align() { position_ = (position_ + 7) / 8 * 8; }
  [[nodiscard]] bool at_end() const { return position_ >= 8 * bytes_.size(); }
  [[nodiscard]] bool past() const { return position_ > 8 * bytes_.size(); }
  [[nodiscard]] std::size_t bit() const { return position_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

// Golomb-Rice numbers with separate quotients and remainders, in chunks: a chunk's remainders follow
// one chunk later.
class Lane {
 public:
  void start(std::size_t wanted, std::uint32_t divisor) {
    wanted_ = wanted;
    divisor_ = divisor;
    begun_ = 0;
    open_ = 0;
    fresh_.clear();
    waiting_.clear();
    values_.clear();
  }
  // One symbol of a quotient; `last` ends it.
  void add(std::uint32_t amount, bool last) {
    open_ += amount;
    if (!last) return;
    fresh_.push_back(open_);
    open_ = 0;
    ++begun_;
  }
  // Reads the remainders of the previous chunk; the present one then waits.
  void finish_chunk(BitReader& reader) {
    for (const std::uint32_t quotient : waiting_) {
      if (values_.size() == wanted_) break;
      values_.push_back((quotient << divisor_) + reader.take(divisor_));
    }
    waiting_.swap(fresh_);
    fresh_.clear();
  }
  [[nodiscard]] std::size_t begun() const { return begun_; }
  [[nodiscard]] bool more() const { return begun_ < wanted_; }
  [[nodiscard]] const std::vector<std::uint32_t>& values() const { return values_; }

 private:
  std::size_t wanted_ = 0, begun_ = 0;
  std::uint32_t divisor_ = 0, open_ = 0;
  std::vector<std::uint32_t> fresh_, waiting_, values_;
};

class WeightDecoder {
 public:
  WeightDecoder(std::span<const std::byte> stream, std::size_t most) : reader_(stream), most_(most) {}

  Result<std::vector<std::int16_t>> decode() {
    for (;;) {
      std::uint32_t zero_divisor = reader_.take(3);
      while (zero_divisor == kEndOfStream && !reader_.past()) {
        reader_.align();
        if (reader_.at_end()) return std::move(weights_);
        zero_divisor = reader_.take(3);
      }
      RUNNEL_TRY(slice(zero_divisor));
    }
  }

 private:
  Status fail() const { return Status(Code::invalid_data) << "weight stream, bit " << reader_.bit() << ": "; }

  Status slice(std::uint32_t zero_divisor) {
    const bool has_runs = zero_divisor != kNoZeroRuns;
    if (has_runs && zero_divisor > kMaxZeroDivisor)
      return fail() << "zero runs of divisor " << zero_divisor << ", expected 0 to " << kMaxZeroDivisor
                    << " or none";
    const std::size_t count = reader_.take(15) + 1;
    std::uint32_t divisor = reader_.take(3);
    const bool truncated = reader_.take(1) != 0, new_palette = reader_.take(1) != 0;
    if (new_palette)
      read_palette();
    else if (!has_palette_)
      return fail() << "a first slice without palette";
    const bool uncompressed = divisor == kUncompressed;
    if (!uncompressed && divisor > kMaxDivisor)
      return fail() << "weights of divisor " << divisor << ", expected 0 to " << kMaxDivisor
                    << " or uncompressed";
    if (uncompressed)
      divisor =
          palette_.empty() ? palette_bits_ : static_cast<std::uint32_t>(std::bit_width(palette_.size() - 1));
    indices_.start(count, divisor);
    // A new palette allows zeros before the first weight.
    runs_.start(has_runs ? count + (new_palette ? 1 : 0) : 0, zero_divisor);
    RUNNEL_TRY(chunks(has_runs, zero_divisor, uncompressed, divisor, truncated));
    return emit(has_runs, new_palette);
  }

  void read_palette() {
    has_palette_ = true;
    direct_offset_ = reader_.take(5);
    const std::uint32_t size = reader_.take(5);
    palette_bits_ = reader_.take(3) + 2;
    palette_.clear();
    for (std::uint32_t i = 0; size > 0 && i <= size; ++i) palette_.push_back(reader_.take(palette_bits_));
  }

  // Both lanes alternate; zero runs may lag by only a few.
  Status chunks(bool has_runs, std::uint32_t zero_divisor, bool uncompressed, std::uint32_t divisor,
                bool truncated) {
    const int index_symbols = uncompressed && divisor > kMaxDivisor ? kFewSymbols : kSymbols,
              run_symbols = zero_divisor == 3 ? kFewSymbols : kSymbols;
    for (;;) {
      const std::int64_t lead =
          has_runs ? static_cast<std::int64_t>(indices_.begun()) - static_cast<std::int64_t>(runs_.begun())
                   : 0;
      const bool more_indices = indices_.more() && lead < 8, more_runs = runs_.more() && lead >= 0;
      const std::uint32_t ones = more_indices && !uncompressed ? reader_.take(kSymbols) : 0;
      for (int i = 0; more_runs && i < run_symbols; ++i) {
        const std::uint32_t one = reader_.take(1);
        runs_.add(one, one == 0);
      }
      for (int i = 0; more_indices && i < index_symbols; ++i) {
        const std::uint32_t code = (ones >> i & 1) != 0 ? 1 + reader_.take(1) : 0;
        indices_.add(code, code < 2 || truncated);
      }
      indices_.finish_chunk(reader_);
      runs_.finish_chunk(reader_);
      if (reader_.past()) return fail() << "the end inside a slice";
      if (!more_indices && !more_runs) return {};
    }
  }

  Status emit(bool has_runs, bool new_palette) {
    auto run = runs_.values().begin();
    const auto zeros = [&] {
      if (!has_runs) return true;
      const std::size_t count = *run++;
      if (count > most_ - weights_.size()) return false;
      weights_.insert(weights_.end(), count, 0);
      return true;
    };
    const auto too_many = [&] { return fail() << "more than " << most_ << " weights"; };
    if (new_palette && !zeros()) return too_many();
    for (const std::uint32_t index : indices_.values()) {
      const std::uint32_t code = index < palette_.size()
                                     ? palette_[index]
                                     : index - static_cast<std::uint32_t>(palette_.size()) + direct_offset_;
      const auto magnitude = static_cast<std::int32_t>(code >> 1);
      if (magnitude > kMaxMagnitude)
        return fail() << "a weight of magnitude " << magnitude << ", expected at most " << kMaxMagnitude;
      if (weights_.size() == most_) return too_many();
      weights_.push_back(static_cast<std::int16_t>((code & 1) != 0 ? -magnitude : magnitude));
      if (!zeros()) return too_many();
    }
    return {};
  }

  BitReader reader_;
  std::size_t most_;
  std::vector<std::int16_t> weights_;
  std::vector<std::uint32_t> palette_;
  std::uint32_t palette_bits_ = 0, direct_offset_ = 0;
  bool has_palette_ = false;
  Lane indices_, runs_;
};

}  // namespace

Result<std::vector<std::int16_t>> decode_weights(std::span<const std::byte> stream, std::size_t most) {
  return WeightDecoder(stream, most).decode();
}

std::size_t WeightOrder::count() const {
  std::size_t count = 0;
  walk([&](std::int64_t) { ++count; });
  return count;
}

WeightOrder weight_order(const Operation& op, const Accelerator& accelerator, std::int32_t core) {
  WeightOrder order;
  order.depthwise = op.kind == OperationKind::depthwise;
  order.outs = channels_of(op.ofm.depth, core, op.cores);
  order.height = op.kernel.taps_y();
  order.width = op.kernel.taps_x();
  order.depth = order.depthwise ? 1 : op.ifm.depth;
  order.block_depth = channels_of(op.block_depth, core, op.cores);
  order.ofm_ublock = accelerator.ublock_depth;
  order.part_kernel = op.kernel.part_kernel && !order.depthwise;
  order.wide = op.ifm.element == 2;
  order.dilation_y = op.kernel.dilation_y;
  order.dilation_x = op.kernel.dilation_x;
  return order;
}

Result<std::vector<std::int16_t>> unpack_weights(const WeightOrder& order,
                                                 std::span<const std::byte> stream) {
  const std::size_t needed = order.count();
  RUNNEL_ASSIGN(const std::vector<std::int16_t> weights, decode_weights(stream, needed));
  if (weights.size() != needed)
    return Status(Code::invalid_data)
           << "weight stream: " << weights.size() << " weights, expected " << needed;
  std::vector<std::int16_t> out(
      static_cast<std::size_t>(order.outs) * static_cast<std::size_t>(order.height) *
      static_cast<std::size_t>(order.width) * static_cast<std::size_t>(order.depth));
  auto next = weights.begin();
  order.walk([&](std::int64_t index) {
    if (index >= 0) out[static_cast<std::size_t>(index)] = *next;
    ++next;
  });
  return out;
}

ScaleRecord read_scale_record(const std::byte* bytes) noexcept {
  std::uint64_t bias = 0;
  std::memcpy(&bias, bytes, 5);
  ScaleRecord record;
  record.bias = static_cast<std::int64_t>(bias << 24) >> 24;
  std::memcpy(&record.multiplier, bytes + 5, 4);
  record.shift = static_cast<std::uint8_t>(std::to_integer<unsigned>(bytes[9]) & 63);
  return record;
}

}  // namespace runnel::npu
