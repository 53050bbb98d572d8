#include "compiler/import/espdl/importer.h"

#include <algorithm>

#include "base/host/out_of_memory.h"
#include "compiler/espdl/container.h"
#include "compiler/espdl/package.h"
#include "compiler/espdl/pipeline_metadata.h"
#include "compiler/espdl/source.h"
#include "compiler/espdl/target.h"
#include "compiler/import/espdl/convert.h"

namespace runnel::compiler {
namespace {

using espdl_source::TargetChoice;

// The targets that the contents leave open differ in rounding only: the one whose rounding comes closer to
// the recorded outputs. (16-bit models are recorded with float arithmetic and need not agree exactly with
// either.)
Result<TargetChoice> target_from_vectors(const espdl_source::Model& model, const EspdlOptions& options) {
  const auto guess = [](std::string why) {
    return TargetChoice{EspdlTarget::esp32s3,
                        std::move(why) + ": esp32s3 is a guess, name the target to be sure"};
  };
  RUNNEL_ASSIGN(const Graph half_up, espdl_source::convert(model, EspdlTarget::esp32s3, options));
  if (half_up.vectors.empty()) return guess("nothing in the file tells");
  RUNNEL_ASSIGN(const Graph half_even, espdl_source::convert(model, EspdlTarget::esp32p4, options));
  const auto up = espdl_source::differing_elements(half_up, options.operators),
             even = espdl_source::differing_elements(half_even, options.operators);
  if (!up.ok() || !even.ok()) return guess("the embedded test values cannot be run here");
  const std::int64_t up_differs = up.value(), even_differs = even.value();
  if (up_differs == even_differs) {
    return guess(up_differs == 0 ? "both roundings reproduce the embedded test values"
                                 : "both roundings are equally far from the embedded test values");
  }
  const bool is_even = even_differs < up_differs;
  const std::int64_t least = std::min(up_differs, even_differs), most = std::max(up_differs, even_differs);
  std::string why = is_even ? "half-even rounding " : "half-up rounding ";
  why += least == 0 ? "reproduces the embedded test values"
                    : "comes closer to the embedded test values (" + std::to_string(least) + " differ)";
  why += std::string(", with ") + (is_even ? "half-up " : "half-even ") + std::to_string(most) + " differ";
  return TargetChoice{is_even ? EspdlTarget::esp32p4 : EspdlTarget::esp32s3, std::move(why)};
}

Result<TargetChoice> choose_target(const espdl_source::Model& model, const EspdlOptions& options) {
  if (options.target != EspdlTarget::automatic) return TargetChoice{options.target, "asked for"};
  const TargetChoice found = espdl_source::target_from_contents(model);
  if (found.target != EspdlTarget::automatic) return found;
  return target_from_vectors(model, options);
}

Result<EspdlImport> import_payload(std::span<const std::byte> bytes, const EspdlOptions& options) {
  RUNNEL_ASSIGN(const std::span<const std::byte> file, espdl_member(bytes, options.member));
  RUNNEL_ASSIGN(const EspdlPayload payload, EspdlPayload::open(file, options.key ? &*options.key : nullptr));
  RUNNEL_ASSIGN(const espdl_source::Model model, espdl_source::read_model(payload));
  RUNNEL_TRY(espdl_source::check_operators(model, options.custom_operators));
  RUNNEL_ASSIGN(TargetChoice choice, choose_target(model, options));
  EspdlImport result;
  RUNNEL_ASSIGN(result.graph, espdl_source::convert(model, choice.target, options));
  result.target = choice.target;
  result.target_reason = std::move(choice.reason);
  if (options.linear_tables) {
    for (Node& node : result.graph.nodes) {
      if (auto* const lut = std::get_if<LutOptions>(&node.options)) lut->linear = true;
    }
  }
  // The target has an entry of its own.
  for (const auto& entry : model.metadata) {
    if (entry.first != "target" || espdl_source::target_named(entry.second) == EspdlTarget::automatic)
      result.graph.metadata.push_back(entry);
  }
  RUNNEL_TRY(take_pipeline_entries(result.graph.metadata, result.graph.pipeline));
  result.graph.metadata.emplace_back("source.format", "espdl");
  result.graph.metadata.emplace_back("espdl.target", espdl_source::name_of(result.target));
  return result;
}

}  // namespace

Result<EspdlImport> import_espdl(std::span<const std::byte> bytes, const EspdlOptions& options) {
  return catching_bad_alloc("importing the model", [&] { return import_payload(bytes, options); });
}

}  // namespace runnel::compiler
