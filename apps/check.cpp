// runnel check: proves a model on this machine. One JSON result on stdout, details on stderr.
#include <cstdio>
#include <span>

#include "apps/call/contained.h"
#include "apps/graphs.h"
#include "apps/verbs.h"
#include "services/describe/check_model.h"

namespace runnel::apps {
namespace {

struct CheckCall {
  describe::CheckRequest request;
  ModelFlags flags;
  Containment containment;
};

// The result: whether it passed, and the JSON.
Result<std::vector<std::byte>> check_contained(const CheckCall& call, const compiler::LoadOptions& load) {
  RUNNEL_ASSIGN(const auto owned, load_noted(call.request.model, load));
  compiler::FileLoader loader(load);
  RUNNEL_ASSIGN(const describe::CheckOutcome outcome,
                describe::check_model(owned, call.request, graph_options(loader), say));
  const std::span<const std::byte> json = std::as_bytes(std::span(outcome.json));
  std::vector<std::byte> answer = {std::byte{outcome.passed}};
  answer.insert(answer.end(), json.begin(), json.end());
  return answer;
}

Status run_check(const CheckCall& call, bool& passed) {
  RUNNEL_ASSIGN(const compiler::LoadOptions load, load_options(call.flags));
  ContainedFiles files{.model = call.request.model, .opened = {}, .doing = "checking"};
  if (!call.request.wav.empty()) files.opened.emplace_back(call.request.wav);
  RUNNEL_ASSIGN(const std::vector<std::byte> answer,
                contained(call.containment, files, load, [&call](const compiler::LoadOptions& inside) {
                  return check_contained(call, inside);
                }));
  if (answer.empty()) return Status(Code::io_error) << call.request.model << ": no result of the check";
  passed = answer[0] == std::byte{1};
  std::printf("%s\n", printable_json(std::span(answer).subspan(1)).c_str());
  return {};
}

}  // namespace

void add_check(Verb verb, int& exit_code) {
  auto call = std::make_shared<CheckCall>();
  verb.positional("MODEL", call->request.model, kAnyModel).required();
  verb.positional("WAV", call->request.wav,
                  "A recording for the model's own front end (default: seeded random input)");
  verb.option("--frames", call->request.frames, "Length of the random input in frames (0: 200)")
      .non_negative();
  verb.option("--seed", call->request.seed, "Seed of the random input");
  verb.flag(
      "--speed", call->request.speed,
      "Also fail on a layer that takes more than 20 % of the time at less than 10 % of the machine's peak");
  add_model_flags(verb, call->flags);
  add_containment(verb, call->containment);
  verb.callback([call, &exit_code] {
    bool passed = false;
    if (const Status status = run_check(*call, passed); !status.ok())
      exit_code = fail(status);
    else if (!passed)
      exit_code = 1;
  });
}

}  // namespace runnel::apps
