#include "services/describe/check_model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/host/npy.h"
#include "inference/host/check.h"
#include "inference/host/describe.h"
#include "inference/host/slow_layers.h"
#include "inference/model/usage.h"
#include "pipeline/host/front_end.h"
#include "pipeline/nodes/host/stored_text.h"
#include "services/describe/tensors.h"

namespace runnel::describe {
namespace {

using Say = std::function<void(std::string_view)>;

// A recording through the model's own front end, as the model's input.
Result<NpyArray> front_end_frames(const Model& model, const std::string& wav,
                                  const pipeline::GraphOptions& options) {
  if (model.pipeline() == nullptr || model.pipeline()->front_end() == nullptr ||
      model.pipeline()->front_end()->size() == 0)
    return Status(Code::invalid_argument)
           << "the model has no front end for " << wav
           << "; expected one that was stored with it (runnel import --front-end), or no recording";
  RUNNEL_TRY(pipeline::check_stored_text(model.pipeline()->front_end()->string_view(), "front end"));
  RUNNEL_ASSIGN(pipeline::FrontEndFrames frames,
                pipeline::run_front_end(model.pipeline()->front_end()->str(), wav, options));
  return NpyArray{frames.format.dtype, {frames.frames, frames.format.channels}, std::move(frames.data)};
}

std::string tell(const Model& model, const Difference& difference) {
  if (difference.tensor < 0)
    return fmt::format("{}: expected {}, found {}", difference.run, difference.expected, difference.found);
  const Shape shape = model.tensor(difference.tensor).shape;
  const std::int64_t channels = shape.rank > 0 ? shape[shape.rank - 1] : 1;
  return fmt::format("{}: tensor {}, frame {}, channel {} (element {} of the frame): expected {}, found {}",
                     difference.run, tensor_label(model, difference.tensor), difference.frame,
                     channels > 0 ? difference.element % channels : 0, difference.element,
                     difference.expected, difference.found);
}

// No layer takes much of the time and little of the machine; false: one does.
Status add_speed(const std::shared_ptr<const OwnedModel>& owned, OperatorTable operators, const Say& say,
                 nlohmann::ordered_json& result, bool& fast) {
  const RunMode mode = owned->model().plan() == nullptr ? RunMode::whole : RunMode::stream;
  RUNNEL_ASSIGN(const SpeedReport report, check_speed(owned, mode, operators));
  if (!report.profile.peak.known()) {
    return Status(Code::unsupported)
           << "--speed: the peak of this machine is unknown, expected x86-64 with AVX2";
  }
  fast = report.slow.empty();
  nlohmann::ordered_json slow = nlohmann::ordered_json::array();
  for (const StepProfile& step : report.slow) {
    slow.push_back({{"layer", step.name},
                    {"type", step.type},
                    {"operators", step.operators},
                    {"kernel", step.kernel},
                    {"share", step.share},
                    {"peak_share", step.peak_share}});
    say(slow_text(step));
  }
  result["speed"] = {{"passed", fast},
                     {"mode", mode == RunMode::stream ? "stream" : "whole"},
                     {"run_us", report.profile.run_microseconds},
                     {"slow", slow}};
  if (fast)
    say(fmt::format(
        "no layer takes more than {:.0f} % of {:.3f} us at less than {:.0f} % of the machine's peak",
        100 * kLargeShare, report.profile.run_microseconds, 100 * kLeastOfPeak));
  return {};
}

}  // namespace

Result<CheckOutcome> check_model(const std::shared_ptr<const OwnedModel>& owned, const CheckRequest& call,
                                 const pipeline::GraphOptions& options, const Say& tell_user) {
  const Say say = tell_user ? tell_user : [](std::string_view) {};
  const Model& model = owned->model();
  nlohmann::ordered_json result = {{"type", "check"}, {"model", call.model}, {"exact", true}};
  std::vector<Difference> differences;

  RUNNEL_ASSIGN(const VectorReport vectors, check_vectors(owned, best_isa(), options.operators));
  std::string rule =
      vectors.int16_step
          ? fmt::format("int16 within {:g} step and other integers exact, as in ESP-DL's own test",
                        kEspdlInt16Steps)
          : "integers exact";
  if (vectors.floats) rule += fmt::format(", float32 within {:g}", kVectorTolerance);
  result["vectors"] = {
      {"cases", vectors.cases}, {"exact", vectors.exact}, {"passed", vectors.passed}, {"rule", rule}};
  // JSON has no infinity: write null.
  if (vectors.cases > 0) result["vectors"]["largest_difference"] = vectors.largest_difference;
  differences = vectors.differences;
  if (vectors.cases == 0) {
    say("no self-test vectors in the model");
  } else {
    say(fmt::format("{} of {} self-test vectors reproduced exactly", vectors.exact, vectors.cases));
    if (vectors.exact < vectors.cases) {
      say(fmt::format("{} of {} pass ({}); largest difference {:g}", vectors.passed, vectors.cases, rule,
                      vectors.largest_difference));
    }
  }

  RUNNEL_ASSIGN(const ModelDescription about, describe_model(owned));
  result["streamed"] = about.streamed;
  if (!about.streamed) {
    const Result<ModelUsage> usage = usage_of(model);
    say(usage.ok() && usage->kind == UsageKind::step
            ? "the model runs in steps and keeps its own state; there is no whole recording to compare with"
            : "the model runs on whole clips; there is no stream to compare");
  } else {
    std::vector<std::vector<std::byte>> inputs;
    std::int64_t frames = call.frames > 0 ? call.frames : 200;
    if (!call.wav.empty()) {
      RUNNEL_ASSIGN(NpyArray array, front_end_frames(model, call.wav, options));
      const TensorView input = model.tensor(model.inputs()[0]);
      const std::size_t values =
          input.bytes() / size_of(input.dtype) /
          static_cast<std::size_t>(
              input.shape[about.tensors[static_cast<std::size_t>(model.inputs()[0])].time_axis]);
      if (model.inputs().size() != 1 || array.shape.size() != 2 ||
          array.shape[1] != static_cast<std::int64_t>(values)) {
        return Status(Code::mismatch)
               << "the front end gives " << (array.shape.size() == 2 ? array.shape[1] : 0)
               << " values per frame, the model wants " << values;
      }
      frames = array.shape[0];
      inputs.push_back(array.dtype == input.dtype ? array.data : quantize_for(model, input, array.data));
    }
    RUNNEL_ASSIGN(const StreamReport stream,
                  check_streaming(owned, frames, inputs, call.seed, best_isa(), options.operators));
    differences.insert(differences.end(), stream.differences.begin(), stream.differences.end());
    result["frames"] = stream.frames;
    result["output_frames"] = stream.output_frames;
    result["blocks"] = stream.blocks;
    result["delay_frames"] = about.delay;
    result["lookahead_frames"] = about.lookahead;
    result["state_bytes"] = about.memory.state;
    std::string blocks;
    for (const std::int64_t block : stream.blocks)
      blocks += (blocks.empty() ? "" : ", ") + std::to_string(block);
    say(fmt::format(
        "{} frames of {}: streamed in blocks of {}, after resets, interleaved, saved and restored, and "
        "event-driven: {}",
        stream.frames, call.wav.empty() ? "seeded random input" : call.wav, blocks,
        stream.differences.empty() ? "equal to the whole run, bit for bit" : "DIFFERENT from the whole run"));
  }
  bool passed = differences.empty();
  result["exact"] = passed;
  if (!passed) {
    result["first_difference"] = tell(model, differences.front());
    for (std::size_t i = 0; i < differences.size() && i < 10; ++i) say(tell(model, differences[i]));
  }
  if (call.speed) {
    bool fast = false;
    RUNNEL_TRY(add_speed(owned, options.operators, say, result, fast));
    passed = passed && fast;
  }
  return CheckOutcome{passed, result.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

}  // namespace runnel::describe
