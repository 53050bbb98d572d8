#include "compiler/espdl/importer.h"

#include "compiler/espdl/container.h"
#include "compiler/espdl/convert.h"
#include "compiler/espdl/source.h"
#include "compiler/espdl/target.h"

namespace runnel::compiler {
namespace {

using espdl_source::TargetChoice;

// The targets that the contents leave open differ in rounding only: the one whose rounding gives the recorded outputs.
Result<TargetChoice> target_from_vectors(const espdl_source::Model& model) {
  RUNNEL_ASSIGN(const Graph half_up, espdl_source::convert(model, EspdlTarget::esp32s3));
  constexpr const char* kGuess = ": esp32s3 is a guess, name the target to be sure";
  if (half_up.vectors.empty()) return TargetChoice{EspdlTarget::esp32s3, std::string("nothing in the file tells") + kGuess};
  RUNNEL_ASSIGN(const Graph half_even, espdl_source::convert(model, EspdlTarget::esp32p4));
  const Result<bool> up = espdl_source::reproduces_vectors(half_up), even = espdl_source::reproduces_vectors(half_even);
  if (!up.ok() || !even.ok()) return TargetChoice{EspdlTarget::esp32s3, std::string("the embedded test values cannot be run here") + kGuess};
  if (*up && !*even) return TargetChoice{EspdlTarget::esp32s3, "half-up rounding reproduces the embedded test values, half-even does not"};
  if (*even && !*up) return TargetChoice{EspdlTarget::esp32p4, "half-even rounding reproduces the embedded test values, half-up does not"};
  return TargetChoice{EspdlTarget::esp32s3, std::string(*up ? "both roundings reproduce" : "no rounding reproduces") + " the embedded test values" + kGuess};
}

Result<TargetChoice> choose_target(const espdl_source::Model& model, EspdlTarget wanted) {
  if (wanted != EspdlTarget::automatic) return TargetChoice{wanted, "asked for"};
  const TargetChoice found = espdl_source::target_from_contents(model);
  if (found.target != EspdlTarget::automatic) return found;
  return target_from_vectors(model);
}

}  // namespace

Result<EspdlImport> import_espdl(std::span<const std::byte> bytes, const EspdlOptions& options) {
  RUNNEL_ASSIGN(const EspdlPayload payload, EspdlPayload::open(bytes));
  RUNNEL_ASSIGN(const espdl_source::Model model, espdl_source::read_model(payload));
  RUNNEL_TRY(espdl_source::check_operators(model));
  RUNNEL_ASSIGN(TargetChoice choice, choose_target(model, options.target));
  EspdlImport result;
  RUNNEL_ASSIGN(result.graph, espdl_source::convert(model, choice.target));
  result.target = choice.target;
  result.target_reason = std::move(choice.reason);
  result.graph.metadata = model.metadata;
  result.graph.metadata.emplace_back("source.format", "espdl");
  result.graph.metadata.emplace_back("espdl.target", espdl_source::name_of(result.target));
  return result;
}

}  // namespace runnel::compiler
