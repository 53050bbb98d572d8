#include "compiler/import/load.h"
#include "npu/host/segment.h"
#include "npu/host/vela_stream.h"
#include "tests/npu/feed.h"
#include "tests/support/data.h"

namespace runnel::test {

std::vector<Program> programs_of(const std::filesystem::path& file) {
  std::vector<Program> programs;
  const auto loaded = compiler::load_model(file);
  if (!loaded.ok()) return programs;
  const Model& model = loaded->model->model();
  for (int i = 0; i < model.operator_count(); ++i) {
    if (code_of(model.op(i)) != runnel::OpCode::delegate) continue;
    const auto segment = npu::read_segment(model, model.op(i));
    if (!segment.ok()) continue;
    const auto payload = DelegateSegment(model, model.op(i)).part("command_stream");
    programs.push_back({file.filename().string(),
                        {payload.begin(), payload.end()},
                        {segment->constants.begin(), segment->constants.end()},
                        segment->scratch,
                        segment->fast_scratch,
                        segment->inputs,
                        segment->outputs});
  }
  return programs;
}

namespace {

std::vector<Program> programs_of(const std::filesystem::path& data,
                                 std::initializer_list<const char*> names) {
  std::vector<Program> programs;
  if (data.empty()) return programs;
  for (const char* name : names) {
    for (Program& program : runnel::test::programs_of(data / (std::string(name) + "_vela.tflite"))) {
      program.name = name;
      programs.push_back(std::move(program));
    }
  }
  return programs;
}

}  // namespace

std::vector<Program> real_programs(const std::filesystem::path& data) {
  return programs_of(data,
                     {"ethosu/vela/u55-128/hello_world_int8", "ethosu/vela/u65-256/hello_world_int8",
                      "ethosu/vela/u55-128/seanet_add0_int16", "ethosu/vela/u55-128/keyword_scrambled_8bit",
                      "ethosu/vela/u65-256/dtln_noise_suppression"});
}
std::vector<Program> u85_programs(const std::filesystem::path& data) {
  std::vector<Program> programs =
      programs_of(data, {"ethosu85/u85-128/hello_world_int8", "ethosu85/u85-2048/hello_world_int8",
                         "ethosu85/cases/u85-256/argmax", "ethosu85/cases/u85-256/bmm",
                         "ethosu85/cases/u85-256/conv_dynweights", "ethosu85/cases/u85-256/conv2x2_s2",
                         "ethosu85/cases/u85-256/fc_dynweights", "ethosu85/cases/u85-256/mirror_pad",
                         "ethosu85/cases/u85-256/resize_bilinear_2x", "ethosu85/cases/u85-256/select",
                         "ethosu85/cases/u85-256/softmax", "ethosu85/cases/u85-256/transpose_0231",
                         "ethosu85/cases/u85-256/tanh_i16", "ethosu85/cases/u85-512-fwd/conv1x1_c200_few",
                         "ethosu85/cases/u85-512-fwd/conv3x3_sparse", "ethosu85/cases/u85-1024/dw3x3_c1_m8",
                         "ethosu85/cases/u85-1024/leaky_relu_i16"});
  // Weights of large accelerators have much filler.
  for (Program& program : programs) program.work = std::uint64_t{1} << 23;
  const std::filesystem::path stream = data / "executorch/armex_ethosu_minimal_278c8132.vela_bin_stream";
  if (!data.empty() && std::filesystem::exists(stream)) {
    const std::vector<std::byte> bytes = read_file(stream);
    const auto vela = npu::read_vela_stream(bytes, {});
    if (vela.ok())
      programs.push_back({"u85-256/minimal",
                          {vela->commands.begin(), vela->commands.end()},
                          {vela->weights.begin(), vela->weights.end()},
                          vela->scratch,
                          0});
  }
  return programs;
}
std::vector<Program> large_programs(const std::filesystem::path& data) {
  return programs_of(data, {"ethosu/vela/u55-128/ad01_int8", "ethosu/vela/u55-128/kws_ref_model",
                            "ethosu/vela/u55-128/micro_speech_quantized", "ethosu/vela/u55-128/person_detect",
                            "ethosu/vela/u55-128/str_ww_ref_model", "ethosu/vela/u65-256/ad01_int8",
                            "ethosu/vela/u65-256/kws_ref_model", "ethosu/vela/u65-256/micro_speech_quantized",
                            "ethosu/vela/u65-256/person_detect", "ethosu/vela/u65-256/str_ww_ref_model",
                            "ethosu/vela/u65-256/seanet_add0_int16", "ethosu85/u85-256/kws_ref_model",
                            "ethosu85/u85-1024/person_detect", "ethosu85/u85-256/dtln_noise_suppression"});
}

}  // namespace runnel::test
