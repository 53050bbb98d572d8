#include "pipeline/host/statistics/kaldi_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/from_chars.h"

namespace runnel::pipeline {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the binary form is little endian, and read as it lies");
constexpr std::string_view kBinary("\0B", 2);

struct Matrix {
  std::vector<double> values;
  std::size_t rows = 0, columns = 0;
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Reads matrices in order.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  // False at the end. A key is empty where there is none.
  Result<bool> next(std::string& key, Matrix& matrix) {
    skip_space();
    if (at_ == bytes_.size()) return false;
    key.clear();
    if (!starts(kBinary) && bytes_[at_] != '[') {
      const std::size_t begin = at_;
      while (at_ < bytes_.size() && !is_space(bytes_[at_]) && bytes_[at_] != '\0') ++at_;
      key = bytes_.substr(begin, at_ - begin);
      // One space; the data after it may begin with a zero byte.
      if (at_ < bytes_.size() && bytes_[at_] == ' ') ++at_;
      if (!starts(kBinary)) skip_space();
    }
    const Status status = starts(kBinary) ? read_binary(matrix) : read_text(matrix);
    if (!status.ok()) return status;
    return true;
  }

 private:
  [[nodiscard]] bool starts(std::string_view with) const { return bytes_.substr(at_).starts_with(with); }
  void skip_space() {
    while (at_ < bytes_.size() && is_space(bytes_[at_])) ++at_;
  }
  [[nodiscard]] Status wrong(std::string_view expected) const {
    return Status(Code::invalid_data) << "byte " << at_ << ": expected " << expected;
  }

  Status read_text(Matrix& matrix) {
    if (!starts("[")) return wrong("[ or a matrix in Kaldi's binary form");
    ++at_;
    matrix = {};
    std::size_t in_row = 0;
    const auto end_row = [&] {
      if (in_row == 0) return true;
      if (matrix.rows++ == 0) matrix.columns = in_row;
      return std::exchange(in_row, 0) == matrix.columns;
    };
    for (;; ++at_) {
      if (at_ == bytes_.size()) return wrong("] at the end of the matrix");
      const char c = bytes_[at_];
      if (c == '\n' || c == ']') {
        if (!end_row()) return wrong("rows of equal length");
        if (c == ']') break;
      } else if (!is_space(c)) {
        double value = 0;
        const auto [stop, error] = from_chars(bytes_.data() + at_, bytes_.data() + bytes_.size(), value);
        if (error != std::errc()) return wrong("a number");
        matrix.values.push_back(value);
        ++in_row;
        at_ = static_cast<std::size_t>(stop - bytes_.data()) - 1;
      }
    }
    ++at_;
    return {};
  }

  // A count, preceded by its size in bytes.
  Status read_count(std::size_t& count) {
    std::int32_t value = 0;
    if (bytes_.size() - at_ < 5 || bytes_[at_] != 4) return wrong("a count of four bytes");
    std::memcpy(&value, bytes_.data() + at_ + 1, 4);
    if (value < 1) return wrong("a count above 0");
    at_ += 5;
    count = static_cast<std::size_t>(value);
    return {};
  }

  Status read_binary(Matrix& matrix) {
    at_ += kBinary.size();
    const bool single = starts("FM ");
    if (!single && !starts("DM ")) return wrong("FM or DM, a matrix of floats that is not compressed");
    at_ += 3;
    matrix = {};
    RUNNEL_TRY(read_count(matrix.rows));
    RUNNEL_TRY(read_count(matrix.columns));
    const std::size_t size = single ? sizeof(float) : sizeof(double), left = (bytes_.size() - at_) / size;
    if (matrix.columns > left || matrix.rows > left / matrix.columns)
      return wrong("as many numbers as rows and columns say");
    for (std::size_t i = 0; i < matrix.rows * matrix.columns; ++i, at_ += size) {
      double value = 0;
      float narrow = 0;
      if (single)
        std::memcpy(&narrow, bytes_.data() + at_, size);
      else
        std::memcpy(&value, bytes_.data() + at_, size);
      matrix.values.push_back(single ? static_cast<double>(narrow) : value);
    }
    return {};
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

Result<TrainingStatistics> statistics_of(const Matrix& matrix) {
  if (matrix.rows != 2 || matrix.columns < 2) {
    return Status(Code::invalid_data)
           << "a matrix of " << matrix.rows << " x " << matrix.columns
           << ", expected two rows: sums and the count of frames, sums of squares and 0";
  }
  const std::size_t dims = matrix.columns - 1;
  const double count = matrix.values[dims];
  if (!(count >= 1) || !std::isfinite(count))
    return Status(Code::invalid_data) << "statistics of less than one frame";
  // Kaldi's floor for the variance.
  constexpr double kLeast = 1e-20;
  TrainingStatistics out;
  for (std::size_t i = 0; i < dims; ++i) {
    const double mean = matrix.values[i] / count,
                 variance = matrix.values[matrix.columns + i] / count - mean * mean;
    if (!std::isfinite(mean) || !std::isfinite(variance))
      return Status(Code::invalid_data) << "the statistics of dimension " << i << " are not finite";
    out.mean.push_back(mean);
    out.deviation.push_back(std::sqrt(std::max(variance, kLeast)));
  }
  return out;
}

}  // namespace

Result<TrainingStatistics> read_kaldi_statistics(std::string_view bytes, std::string_view section) {
  Reader reader(bytes);
  std::string key, known;
  Matrix matrix;
  for (;;) {
    RUNNEL_ASSIGN(const bool found, reader.next(key, matrix));
    if (!found) break;
    if (section.empty() || key == section) return statistics_of(matrix);
    if (known.size() < 200) known += (known.empty() ? "" : ", ") + key;
  }
  if (section.empty()) return Status(Code::invalid_data, "no matrix in it");
  return Status(Code::not_found) << "no key '" << section << "'; there are: " << known;
}

}  // namespace runnel::pipeline
