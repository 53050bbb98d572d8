#include "npu/host/encoder/weight_encoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

namespace runnel::npu {
namespace {

constexpr std::uint32_t kEndOfStream = 7, kNoZeroRuns = 6, kUncompressed = 7, kMaxDivisor = 5,
                        kMaxZeroDivisor = 3;
constexpr std::size_t kMaxSlice = 32768, kMaxPalette = 32, kSymbols = 12, kFewSymbols = 8;
constexpr std::size_t kCodes = 512;           // of a weight: twice its magnitude, plus 1 when negative
constexpr std::uint32_t kShortQuotients = 2;  // the largest truncated quotient of one symbol

std::uint32_t code_of(std::int16_t weight) {
  return static_cast<std::uint32_t>(std::abs(weight)) << 1 | (weight < 0 ? 1u : 0u);
}

// Least significant bit first.
class BitWriter {
 public:
  void put(std::uint32_t value, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i, ++bit_) {
      if (bit_ % 8 == 0) bytes_.push_back(std::byte{0});
      if ((value >> i & 1) != 0) bytes_.back() |= std::byte{1} << bit_ % 8;
    }
  }
  // The end marker, and ones up to a multiple of 16 bytes.
  std::vector<std::byte> finish() {
    put(kEndOfStream, 3);
    while (bit_ % 8 != 0) put(1, 1);
    bytes_.resize((bytes_.size() + 15) / 16 * 16, std::byte{0xff});
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t bit_ = 0;
};

// Coding parameters of a stream.
struct Form {
  std::uint32_t zero_divisor = kNoZeroRuns, divisor = kUncompressed;
  bool truncated = false;
  std::uint32_t direct_offset = 0, palette_bits = 9;
  std::vector<std::uint32_t> palette;  // codes; 0 or 2 to 32 of them

  [[nodiscard]] bool runs() const { return zero_divisor != kNoZeroRuns; }
  [[nodiscard]] bool uncompressed() const { return divisor == kUncompressed; }
  [[nodiscard]] std::uint32_t remainder_bits() const {
    if (!uncompressed()) return divisor;
    return palette.empty() ? palette_bits : static_cast<std::uint32_t>(std::bit_width(palette.size() - 1));
  }
};

// Statistics for the choice of a form.
struct Statistics {
  std::array<std::size_t, kCodes> codes{};  // how often
  std::vector<std::size_t> runs;  // how often a run of this many zeros precedes a nonzero weight or the end
  std::size_t nonzero = 0;

  explicit Statistics(std::span<const std::int16_t> weights) {
    std::size_t run = 0;
    const auto end_run = [&] {
      if (run >= runs.size()) runs.resize(run + 1);
      ++runs[run];
      run = 0;
    };
    for (const std::int16_t weight : weights) {
      ++codes[code_of(weight)];
      if (weight == 0) {
        ++run;
        continue;
      }
      ++nonzero;
      end_run();
    }
    end_run();
  }
};

// Bits of quotients and remainders.
std::size_t index_bits(std::uint32_t quotient, bool truncated) {
  // Symbols of one bit, or two when not 0; each one but the last counts 2.
  if (truncated) return quotient == 0 ? 1 : 2;
  return 2 * (quotient / 2) + (quotient % 2 == 0 ? 1 : 2);
}

class Search {
 public:
  explicit Search(const Statistics& statistics) : statistics_(statistics) {}

  Form best() {
    // Zeros among the weights, or in runs if there are other weights.
    search(false);
    if (statistics_.nonzero > 0) search(true);
    return best_;
  }

 private:
  // Codes of the index lane, the most frequent first.
  [[nodiscard]] std::vector<std::uint32_t> by_frequency(bool runs) const {
    std::vector<std::uint32_t> codes;
    for (std::uint32_t code = runs ? 2 : 0; code < kCodes; ++code) {
      if (statistics_.codes[code] > 0) codes.push_back(code);
    }
    std::stable_sort(codes.begin(), codes.end(), [&](std::uint32_t a, std::uint32_t b) {
      return statistics_.codes[a] > statistics_.codes[b];
    });
    return codes;
  }

  void search(bool runs) {
    Form form;
    std::size_t run_bits = 0;
    if (runs) form.zero_divisor = best_run_divisor(run_bits);
    const std::vector<std::uint32_t> codes = by_frequency(runs);
    const std::uint32_t most = *std::max_element(codes.begin(), codes.end());
    form.palette_bits = std::max<std::uint32_t>(2, static_cast<std::uint32_t>(std::bit_width(most)));
    for (std::size_t size = 0; size <= std::min(codes.size(), kMaxPalette); ++size) {
      if (size == 1) continue;
      form.palette.assign(codes.begin(), codes.begin() + static_cast<std::ptrdiff_t>(size));
      // Indices past the palette begin at the smallest code not in it.
      form.direct_offset = 0;
      if (size < codes.size())
        form.direct_offset = std::min<std::uint32_t>(
            31, *std::min_element(codes.begin() + static_cast<std::ptrdiff_t>(size), codes.end()));
      try_divisors(form, codes, run_bits);
    }
  }

  void try_divisors(Form form, const std::vector<std::uint32_t>& codes, std::size_t run_bits) {
    const std::size_t fixed = run_bits + form.palette.size() * form.palette_bits;
    std::size_t count = 0, most = 0;
    std::vector<std::pair<std::uint32_t, std::size_t>> indices;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::size_t index =
          i < form.palette.size() ? i : form.palette.size() + codes[i] - form.direct_offset;
      indices.emplace_back(static_cast<std::uint32_t>(index), statistics_.codes[codes[i]]);
      count += statistics_.codes[codes[i]];
      most = std::max(most, index);
    }
    form.divisor = kUncompressed;
    form.truncated = false;
    // Without a palette, indices are the codes; with one, all weights must be in it.
    if (form.palette.empty()) {
      Form plain = form;
      plain.direct_offset = 0;
      offer(plain, fixed + count * form.palette_bits);
    } else if (form.palette.size() == codes.size()) {
      offer(form, fixed + count * form.remainder_bits());
    }
    for (std::uint32_t divisor = 0; divisor <= kMaxDivisor; ++divisor) {
      form.divisor = divisor;
      for (const bool truncated : {false, true}) {
        if (truncated && most >> divisor > kShortQuotients) continue;
        form.truncated = truncated;
        std::size_t bits = fixed + count * divisor;
        for (const auto& [index, times] : indices) bits += times * index_bits(index >> divisor, truncated);
        offer(form, bits);
      }
    }
  }

  std::uint32_t best_run_divisor(std::size_t& bits) const {
    std::uint32_t best = 0;
    for (std::uint32_t divisor = 0; divisor <= kMaxZeroDivisor; ++divisor) {
      std::size_t sum = 0;
      for (std::size_t run = 0; run < statistics_.runs.size(); ++run)
        sum += statistics_.runs[run] * ((run >> divisor) + 1 + divisor);
      if (divisor == 0 || sum < bits) {
        best = divisor;
        bits = sum;
      }
    }
    return best;
  }

  void offer(const Form& form, std::size_t bits) {
    if (bits >= best_bits_) return;
    best_ = form;
    best_bits_ = bits;
  }

  const Statistics& statistics_;
  Form best_;
  std::size_t best_bits_ = SIZE_MAX;
};

// Quotients of one lane as symbols, in chunks; a chunk's remainders follow one chunk later.
class Lane {
 public:
  Lane(std::vector<std::uint32_t> values, std::uint32_t divisor)
      : values_(std::move(values)), divisor_(divisor) {}

  [[nodiscard]] bool more() const { return begun_ < values_.size(); }
  [[nodiscard]] std::size_t begun() const { return begun_; }
  // The next symbol, at most `most`; after the last value symbols are 0.
  std::uint32_t symbol(std::uint32_t most, bool every_ends) {
    if (begun_ >= values_.size()) {
      ++begun_;
      return 0;
    }
    if (!open_) left_ = values_[begun_] >> divisor_;
    const std::uint32_t code = std::min(left_, most);
    left_ -= code;
    open_ = !(every_ends || code < most);
    if (!open_) {
      fresh_.push_back(values_[begun_] & ((1u << divisor_) - 1));
      ++begun_;
    }
    return code;
  }
  void finish_chunk(BitWriter& out) {
    for (const std::uint32_t remainder : waiting_) out.put(remainder, divisor_);
    waiting_.swap(fresh_);
    fresh_.clear();
  }

 private:
  std::vector<std::uint32_t> values_;
  std::uint32_t divisor_, left_ = 0;
  std::size_t begun_ = 0;
  bool open_ = false;
  std::vector<std::uint32_t> fresh_, waiting_;
};

class Writer {
 public:
  explicit Writer(Form form) : form_(std::move(form)) {
    for (std::size_t i = 0; i < form_.palette.size(); ++i)
      index_[form_.palette[i]] = static_cast<std::uint32_t>(i) + 1;
  }

  std::vector<std::byte> write(std::span<const std::int16_t> weights) {
    std::vector<std::uint32_t> indices, runs;
    if (form_.runs()) runs.push_back(0);
    bool first = true;
    for (const std::int16_t weight : weights) {
      if (form_.runs() && weight == 0) {
        ++runs.back();
        continue;
      }
      if (indices.size() == kMaxSlice) {
        slice(indices, runs, first);
        first = false;
        indices.clear();
        // The run after the last weight was part of that slice.
        runs.clear();
      }
      indices.push_back(index_of(code_of(weight)));
      if (form_.runs()) runs.push_back(0);
    }
    slice(indices, runs, first);
    return out_.finish();
  }

 private:
  [[nodiscard]] std::uint32_t index_of(std::uint32_t code) const {
    if (index_[code] > 0) return index_[code] - 1;
    return static_cast<std::uint32_t>(form_.palette.size()) + code - form_.direct_offset;
  }

  void slice(const std::vector<std::uint32_t>& indices, const std::vector<std::uint32_t>& runs, bool first) {
    if (indices.empty()) return;
    out_.put(form_.zero_divisor, 3);
    out_.put(static_cast<std::uint32_t>(indices.size() - 1), 15);
    out_.put(form_.divisor, 3);
    out_.put(form_.truncated ? 1 : 0, 1);
    out_.put(first ? 1 : 0, 1);
    if (first) {
      out_.put(form_.direct_offset, 5);
      out_.put(form_.palette.empty() ? 0 : static_cast<std::uint32_t>(form_.palette.size() - 1), 5);
      out_.put(form_.palette_bits - 2, 3);
      for (const std::uint32_t code : form_.palette) out_.put(code, form_.palette_bits);
    }
    chunks(Lane(indices, form_.remainder_bits()), Lane(runs, form_.runs() ? form_.zero_divisor : 0));
  }

  // Alternates in the decoder's order.
  void chunks(Lane weights, Lane zeros) {
    const std::size_t index_symbols =
        form_.uncompressed() && form_.remainder_bits() > kMaxDivisor ? kFewSymbols : kSymbols;
    const std::size_t run_symbols = form_.zero_divisor == 3 ? kFewSymbols : kSymbols;
    for (;;) {
      const std::int64_t lead =
          form_.runs() ? static_cast<std::int64_t>(weights.begun()) - static_cast<std::int64_t>(zeros.begun())
                       : 0;
      const bool more_weights = weights.more() && lead < 8,
                 more_zeros = form_.runs() && zeros.more() && lead >= 0;
      std::array<std::uint32_t, kSymbols> codes{};
      for (std::size_t i = 0; more_weights && i < index_symbols; ++i)
        codes[i] = weights.symbol(form_.uncompressed() ? 0 : 2, form_.uncompressed() || form_.truncated);
      for (std::size_t i = 0; more_weights && !form_.uncompressed() && i < index_symbols; ++i)
        out_.put(codes[i] > 0 ? 1 : 0, 1);
      for (std::size_t i = 0; more_zeros && i < run_symbols; ++i) out_.put(zeros.symbol(1, false), 1);
      for (std::size_t i = 0; more_weights && !form_.uncompressed() && i < index_symbols; ++i) {
        if (codes[i] > 0) out_.put(codes[i] - 1, 1);
      }
      weights.finish_chunk(out_);
      zeros.finish_chunk(out_);
      if (!more_weights && !more_zeros) return;
    }
  }

  Form form_;
  std::array<std::uint32_t, kCodes> index_{};  // 1 + index in the palette; 0: not in it
  BitWriter out_;
};

}  // namespace

std::vector<std::byte> encode_weights(std::span<const std::int16_t> weights) {
  if (weights.empty()) return BitWriter().finish();
  return Writer(Search(Statistics(weights)).best()).write(weights);
}

std::vector<std::byte> pack_weights(const WeightOrder& order, std::span<const std::int16_t> weights) {
  std::vector<std::int16_t> stream;
  stream.reserve(order.count());
  order.walk([&](std::int64_t index) {
    stream.push_back(index < 0 ? std::int16_t{0} : weights[static_cast<std::size_t>(index)]);
  });
  return encode_weights(stream);
}

void append_scale_record(const ScaleRecord& record, std::vector<std::byte>& to) {
  for (int i = 0; i < 5; ++i) to.push_back(static_cast<std::byte>(record.bias >> 8 * i & 0xff));
  for (int i = 0; i < 4; ++i) to.push_back(static_cast<std::byte>(record.multiplier >> 8 * i & 0xff));
  to.push_back(static_cast<std::byte>(record.shift & 63));
}

}  // namespace runnel::npu
