// Documents about models: catalogues and cards, manifests, calibration tables, statistics, system files.
#include "compiler/import/manifest.h"
#include "compiler/quantize/calibrate/calibration_table.h"
#include "npu/host/cycles/system_file.h"
#include "pipeline/host/statistics/statistics_file.h"
#include "services/models/facts.h"
#include "services/models/fetch/catalogue.h"
#include "tests/fuzz/readers/memory_file.h"
#include "tests/fuzz/readers/reader.h"

namespace runnel::fuzz {
namespace {

Status feed_catalogue(std::span<const std::byte> bytes) {
  RUNNEL_ASSIGN(const auto catalogue, models::parse_catalogue(text_of(bytes)));
  for (const models::CatalogueEntry& entry : catalogue) {
    insist(!entry.files.empty(), "a model without a file");
    for (const models::CatalogueFile& file : entry.files) {
      const std::string name = models::file_name_of(file.address);
      insist(!name.empty() && name.front() != '.' && name.find('/') == std::string::npos,
             "a file that is written somewhere else");
      insist(file.sha256.size() == 64, "a file without a checksum");
    }
  }
  static_cast<void>(models::entry_named(catalogue, "digits"));
  return {};
}

Status feed_card(std::span<const std::byte> bytes) {
  static MemoryFile file(".json");
  return models::read_card(file.with(bytes)).status();
}

Status feed_manifest(std::span<const std::byte> bytes) {
  static_cast<void>(compiler::looks_like_manifest(bytes));
  RUNNEL_ASSIGN(const compiler::WakeWordManifest manifest, compiler::read_manifest(bytes));
  insist(!manifest.model.empty() && manifest.model.front() != '/' &&
             manifest.model.find("..") == std::string::npos,
         "a manifest of a file elsewhere");
  insist(manifest.sliding_window >= 1 && manifest.probability_cutoff > 0, "a manifest of nothing");
  compiler::Graph graph;
  insist(!compiler::apply_manifest(manifest, graph).ok(), "a manifest of a graph that has nothing");
  return {};
}

Status feed_calibration_table(std::span<const std::byte> bytes) {
  using compiler::quantizer::CalibrationTable;
  RUNNEL_ASSIGN(const CalibrationTable table, CalibrationTable::from_text(text_of(bytes)));
  insist(!table.quantize({}).ok(), "a table of a model that has nothing");
  return {};
}

// The first byte chooses the section.
Status feed_statistics(std::span<const std::byte> bytes) {
  const char* const section = !bytes.empty() && bytes.front() == std::byte{'s'} ? "a" : "";
  if (!bytes.empty()) bytes = bytes.subspan(1);
  RUNNEL_ASSIGN(const pipeline::TrainingStatistics read, pipeline::read_statistics(text_of(bytes), section));
  insist(!read.mean.empty() && read.mean.size() == read.deviation.size(), "means without deviations");
  for (const double deviation : read.deviation) insist(deviation > 0, "a deviation that is not above 0");
  return {};
}

Status feed_system_file(std::span<const std::byte> bytes) {
  npu::SystemFile file;
  RUNNEL_TRY(file.read(text_of(bytes)));
  static_cast<void>(file.find_mode("both"));
  static_cast<void>(file.find_system(""));
  return {};
}

}  // namespace

std::vector<Reader> document_readers() {
  const std::string sum(64, 'a');
  // Kaldi's binary form, behind a key.
  std::string matrix = "sa " + std::string("\0BFM \4\2\0\0\0\4\2\0\0\0", 15);
  for (const float value : {4.0F, 2.0F, 9.0F, 0.0F})
    matrix.append(reinterpret_cast<const char*>(&value), sizeof value);
  return {
      {"catalogue",
       feed_catalogue,
       {R"([{"name":"a","about":"b","licence":"MIT","files":[{"address":"https://a/b.onnx?x","sha256":")" +
            sum +
            R"(","bytes":7}],"import":{"usage":"step","step":512,"context":64,"states":{"o":"s"},)"
            R"("decision":"detect","labels":["voice"],"sample_rate":16000}}])",
        R"([{"name":"s","key":")" + sum + R"(","files":[{"address":"https://a/b","sha256":")" + sum +
            R"(","signature":"https://a/b.sig"}]}])"}},
      {"card", feed_card, {R"({"about":"one line","licence":"MIT","source":"https://a/b"})"}},
      {"manifest",
       feed_manifest,
       {R"({"type":"micro","wake_word":"Alexa","author":"a","website":"w","model":"alexa.tflite",)"
        R"("trained_languages":["en"],"version":2,"micro":{"probability_cutoff":0.9,)"
        R"("feature_step_size":10,"sliding_window_size":5,"tensor_arena_size":22348}})"}},
      {"calibration_table",
       feed_calibration_table,
       {R"({"format":"runnel calibration table","version":1,"model":7,"inputs":{"x":[1,4]},)"
        R"("front_end":"fbank","clips":3,"target":"esp32s3","scheme":"pow2","methods":"minmax","error":0.5,)"
        R"("types":{"c":"int8"},"factors":[{"makers":["c"],"readers":["d"],"factors":[1,2]}],)"
        R"("ranges":{"x":[-1,1]},"gates":{"g":-3},"layers":{"c":{"exponents":[-7],"bias":[0.5],)"
        R"("weights":[0,1]}},"matrices":{"r":{"1":{"exponents":[-6]}}}})"}},
      {"statistics",
       feed_statistics,
       {R"(-{"mean":[1,2],"std":[0.5,3]})", R"(s{"a":{"mean":[1],"std":[2]},"b":{"mean":[1],"std":[2]}})",
        "-[\n 4 6 2\n 9 20 0 ]\n", matrix}},
      {"system_file",
       feed_system_file,
       {"; a board\n[System_Config.board]\ncore_clock=400e6\naxi0_port=Sram\naxi1_port=OffChipFlash\n"
        "Sram_clock_scale=1.0\nSram_burst_length = 32\nSram_read_latency = 16   # cycles\n"
        "OffChipFlash_clock_scale = 0.125\nOffChipFlash_burst_length = 128\n"
        "OffChipFlash_read_latency = 64\n[Memory_Mode.flash]\nconst_mem_area = Axi1\narena_mem_area = Axi0\n"
        "cache_mem_area = Axi0\n[Memory_Mode.both]\ninherit = Memory_Mode.flash\narena_mem_area = Axi1\n"}},
  };
}

}  // namespace runnel::fuzz
