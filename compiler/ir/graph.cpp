#include "compiler/ir/graph.h"

namespace runnel::compiler {

Options::Options() noexcept = default;
Options::Options(const Options& other) = default;
Options::Options(Options&& other) noexcept = default;
Options& Options::operator=(const Options& other) = default;
Options& Options::operator=(Options&& other) noexcept = default;
Options::~Options() = default;

}  // namespace runnel::compiler
