#include "compiler/embed/constant_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/crc32c.h"

namespace runnel::compiler {

std::string ConstantPool::bytes(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "nullptr";
  constexpr std::size_t kAlignment = 16;
  std::size_t at = 0;
  for (; at + bytes.size() <= bytes_.size(); at += kAlignment) {
    if (std::equal(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(at)))
      return fmt::format("{} + {}", array_, at);
  }
  at = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
  bytes_.resize(at);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return fmt::format("{} + {}", array_, at);
}

namespace {

// Where `values` are in `all`, after adding them if they are not.
template <class T>
std::string place(std::string_view array, std::span<const T> values, std::vector<T>& all) {
  if (values.empty()) return "nullptr";
  const auto same = [](const T& a, const T& b) { return std::memcmp(&a, &b, sizeof a) == 0; };
  const auto found = std::search(all.begin(), all.end(), values.begin(), values.end(), same);
  const auto at = found - all.begin();
  if (found == all.end()) all.insert(all.end(), values.begin(), values.end());
  return fmt::format("{} + {}", array, at);
}

template <class T, class Text>
std::string definition(std::string_view type, std::string_view array, const std::vector<T>& all,
                       const Text& text) {
  if (all.empty()) return {};
  std::string out = fmt::format("constinit const {} {}[] = {{", type, array);
  for (std::size_t i = 0; i < all.size(); ++i) out += text(all[i]) + (i % 32 == 31 ? ",\n" : ",");
  return out + "};\n";
}

template <class T>
std::string checked_array(std::string_view array, const std::vector<T>& all) {
  if (all.empty()) return {};
  return fmt::format("{{{0}, sizeof {0}, {1}u}}, ", array, crc32c(std::as_bytes(std::span(all))));
}

}  // namespace

std::string ConstantPool::numbers(std::span<const std::int32_t> numbers) {
  return place("kNumbers", numbers, numbers_);
}
std::string ConstantPool::shorts(std::span<const std::int16_t> numbers) {
  return place("kShorts", numbers, shorts_);
}
std::string ConstantPool::floats(std::span<const float> numbers) {
  return place("kFloats", numbers, floats_);
}

std::string ConstantPool::operand(std::span<const std::byte> bytes) {
  constexpr std::size_t kAlignment = 16;
  const std::size_t at = (operands_.size() + kAlignment - 1) / kAlignment * kAlignment;
  operands_.resize(at);
  operands_.insert(operands_.end(), bytes.begin(), bytes.end());
  return fmt::format("kOperands + {}", at);
}

std::string ConstantPool::arrays() const {
  const auto integer = [](auto value) { return std::to_string(value); };
  return definition("std::int32_t", "kNumbers", numbers_, integer) +
         definition("std::int16_t", "kShorts", shorts_, integer) +
         definition("float", "kFloats", floats_, [](float value) { return fmt::format("{:a}F", value); }) +
         (operands_.empty() ? "" : "alignas(16) ") +
         definition("std::byte", "kOperands", operands_, [](std::byte value) {
           return fmt::format("std::byte{{{}}}", std::to_integer<int>(value));
         });
}

std::string ConstantPool::checked() const {
  std::string out;
  if (!bytes_.empty())
    out +=
        fmt::format("{{{}, {}, {}u}}, ", array_, bytes_.size(), crc32c(std::span<const std::byte>(bytes_)));
  out += checked_array("kNumbers", numbers_) + checked_array("kShorts", shorts_) +
         checked_array("kFloats", floats_) + checked_array("kOperands", operands_);
  return out.empty() ? "{nullptr, 0, 0u}" : out;
}

}  // namespace runnel::compiler
