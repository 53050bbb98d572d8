// The files below systems/ as text of the program; cmake/EmbedTemplates.cmake makes the definition.
#pragma once

#include <span>
#include <string_view>

namespace runnel::embedding {

// `system`: the folder below systems/; `path`: below that, without its ending .in. Words between two @ stand
// for what a program decides; lines that begin with @IF_PARTITION@ are for models in partitions.
struct SystemTemplate {
  std::string_view system, path, text;
};

std::span<const SystemTemplate> system_templates() noexcept;

}  // namespace runnel::embedding
