#include "compiler/ir/graph.h"

namespace runnel::compiler {

std::size_t element_count(const std::vector<std::int32_t>& shape) noexcept {
  std::size_t count = 1;
  for (const std::int32_t size : shape) count *= static_cast<std::size_t>(size);
  return count;
}

Options::Options() noexcept = default;
Options::Options(const Options& other) = default;
Options::Options(Options&& other) noexcept = default;
Options& Options::operator=(const Options& other) = default;
Options& Options::operator=(Options&& other) noexcept = default;
Options::~Options() = default;

}  // namespace runnel::compiler
