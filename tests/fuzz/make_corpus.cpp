// make_corpus FOLDER: writes valid files for the fuzzers to start from, into FOLDER/model, espdl, onnx, pte,
// tflite, recording, graph, npu, chunk, http_request, web_socket, tokens, hello and wyoming.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "compiler/import/espdl/importer.h"
#include "compiler/write/espdl/writer.h"
#include "compiler/write/writer.h"
#include "inference/operator.h"
#include "tests/compiler/import/espdl/tiny_model.h"
#include "tests/compiler/import/pte/program_maker.h"
#include "tests/inference/ops/operator_cases.h"
#include "tests/npu/feed.h"
#include "tests/robustness/foreign.h"
#include "tests/robustness/originals.h"
#include "tests/robustness/structure/recordings.h"
#include "tests/services/fleet/feed.h"
#include "tests/services/net/feed.h"

namespace {

bool write(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return out.good();
}

// A small model for every operator and type, as .rnl and, where that format has it, as .espdl: what reads one
// operator alone is not reached from the others.
bool write_operators(const std::filesystem::path& folder) {
  using namespace runnel;
  bool good = true;
  for (const OperatorDefinition* const definition : all_operators()) {
    for (const test::OperatorCase& one : test::operator_cases(*definition)) {
      std::string name = one.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      if (const auto model = compiler::write_model(one.graph); model.ok())
        good = good && write(folder / "model" / (name + ".rnl"), model->bytes);
      const auto espdl = compiler::write_espdl(one.graph, {.target = compiler::EspdlTarget::esp32p4});
      if (espdl.ok() && !espdl->bytes.empty())
        good = good && write(folder / "espdl" / (name + ".espdl"), espdl->bytes);
    }
  }
  return good;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: make_corpus FOLDER\n", stderr);
    return 2;
  }
  using namespace runnel;
  const std::filesystem::path folder = arguments[1];
  const std::vector<std::byte> tiny = test::tiny_conv().file();
  const auto imported = compiler::import_espdl(tiny);
  if (!imported.ok()) return 1;
  const auto written = compiler::write_model(imported->graph);
  if (!written.ok()) return 1;
  bool good = write(folder / "espdl" / "tiny.espdl", tiny) &&
              write(folder / "model" / "tiny.rnl", written->bytes) &&
              write(folder / "espdl" / "digits.espdl", test::digits_espdl()) &&
              write(folder / "model" / "digits.rnl", test::digits_rnl()) &&
              write(folder / "model" / "attention.rnl", test::attention_rnl()) &&
              write(folder / "model" / "integer_attention.rnl", test::integer_attention_rnl()) &&
              write(folder / "model" / "steps.rnl", test::steps_rnl()) && write_operators(folder) &&
              write(folder / "recording" / "short.wav", test::short_wav()) &&
              write(folder / "recording" / "floats.wav", test::float_wav());
  for (const test::Recording& recording : test::recordings())
    good = good && write(folder / "recording" / recording.name, recording.file);
  test::ProgramMaker program = test::tiny_program(), bundled = test::tiny_program();
  good =
      good && write(folder / "pte" / "tiny.pte", program.file()) &&
      write(folder / "pte" / "tiny.bpte", bundled.bundle({{{{{4}, {1, 2, 3, 4}}}, {{{4}, {1, 0, 6, 1}}}}}));
  for (const test::ForeignFile& file : test::onnx_originals())
    good = good && write(folder / "onnx" / file.name, file.bytes);
  for (const test::ForeignFile& file : test::tflite_originals())
    good = good && write(folder / "tflite" / file.name, file.bytes);
  for (const test::Program& payload : test::made_programs()) {
    std::string name = payload.name;
    std::replace(name.begin(), name.end(), ' ', '_');
    good = good && write(folder / "npu" / name, payload.payload);
  }
  int number = 0;
  for (const std::string& text : test::graph_texts()) {
    good = good && write(folder / "graph" / std::to_string(number++),
                         std::as_bytes(std::span(text.data(), text.size())));
  }
  for (const auto& [name, text] : fleet::test::made_messages())
    good = good && write(folder / "chunk" / name, std::as_bytes(std::span(text.data(), text.size())));
  for (const net::test::Reader& reader : net::test::network_readers()) {
    number = 0;
    for (const std::string& text : reader.seeds) {
      good = good && write(folder / reader.kind / std::to_string(number++),
                           std::as_bytes(std::span(text.data(), text.size())));
    }
  }
  return good ? 0 : 1;
}
