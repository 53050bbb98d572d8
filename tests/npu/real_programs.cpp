#include "compiler/import/load.h"
#include "npu/host/segment.h"
#include "tests/npu/feed.h"
#include "tests/support/data.h"

namespace runnel::test {

namespace {

std::vector<Program> programs_of(const std::filesystem::path& data,
                                 std::initializer_list<const char*> names) {
  std::vector<Program> programs;
  if (data.empty()) return programs;
  for (const char* name : names) {
    const auto loaded = compiler::load_model(data / "ethosu/vela" / (std::string(name) + "_vela.tflite"));
    if (!loaded.ok()) continue;
    const Model& model = loaded->model->model();
    for (int i = 0; i < model.operator_count(); ++i) {
      if (code_of(model.op(i)) != runnel::OpCode::delegate) continue;
      const auto segment = npu::read_segment(model, model.op(i));
      if (!segment.ok()) continue;
      const auto payload = DelegateSegment(model, model.op(i)).part("command_stream");
      programs.push_back({name,
                          {payload.begin(), payload.end()},
                          {segment->constants.begin(), segment->constants.end()},
                          segment->scratch,
                          segment->fast_scratch,
                          segment->inputs,
                          segment->outputs});
    }
  }
  return programs;
}

}  // namespace

std::vector<Program> real_programs(const std::filesystem::path& data) {
  std::vector<Program> programs =
      programs_of(data, {"u55-128/hello_world_int8", "u65-256/hello_world_int8", "u55-128/seanet_add0_int16",
                         "u55-128/keyword_scrambled_8bit", "u65-256/dtln_noise_suppression"});
  // Of a U85: listed and judged, never run.
  const std::filesystem::path u85 = data / "executorch/armex_ethosu_minimal_278c8132.vela_bin_stream";
  if (!data.empty() && std::filesystem::exists(u85))
    programs.push_back({"u85-256/minimal", read_file(u85), {}, 4096, 0});
  return programs;
}
std::vector<Program> large_programs(const std::filesystem::path& data) {
  return programs_of(data,
                     {"u55-128/ad01_int8", "u55-128/kws_ref_model", "u55-128/micro_speech_quantized",
                      "u55-128/person_detect", "u55-128/str_ww_ref_model", "u65-256/ad01_int8",
                      "u65-256/kws_ref_model", "u65-256/micro_speech_quantized", "u65-256/person_detect",
                      "u65-256/str_ww_ref_model", "u65-256/seanet_add0_int16"});
}

}  // namespace runnel::test
