// runnel check: proves a model on this machine. One JSON result on stdout, details on stderr.
#include <cstdio>
#include <optional>

#include "apps/call/progress.h"
#include "apps/graphs.h"
#include "apps/verbs.h"
#include "services/describe/check_model.h"

namespace runnel::apps {
namespace {

struct CheckCall {
  describe::CheckRequest request;
  ModelFlags flags;
};

Status run_check(const CheckCall& call, bool& passed) {
  std::optional<Patience> patience("checking " + call.request.model);
  RUNNEL_ASSIGN(const auto owned, load(call.request.model, call.flags));
  RUNNEL_ASSIGN(const compiler::LoadOptions named, named_models(call.flags.trust));
  compiler::FileLoader loader(named);
  RUNNEL_ASSIGN(const describe::CheckOutcome outcome,
                describe::check_model(owned, call.request, graph_options(loader), say));
  patience.reset();
  passed = outcome.passed;
  std::printf("%s\n", outcome.json.c_str());
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
  verb.callback([call, &exit_code] {
    bool passed = false;
    if (const Status status = run_check(*call, passed); !status.ok())
      exit_code = fail(status);
    else if (!passed)
      exit_code = 1;
  });
}

}  // namespace runnel::apps
