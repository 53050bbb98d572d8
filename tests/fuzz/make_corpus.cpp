// make_corpus FOLDER: writes valid files for the fuzzers to start from, into FOLDER/model, espdl, onnx, pte,
// tflite, recording, graph, npu, chunk, http_request, web_socket, tokens, hello and wyoming.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "compiler/import/espdl/importer.h"
#include "compiler/write/writer.h"
#include "tests/compiler/import/espdl/tiny_model.h"
#include "tests/compiler/import/pte/program_maker.h"
#include "tests/npu/feed.h"
#include "tests/robustness/foreign.h"
#include "tests/robustness/originals.h"
#include "tests/services/fleet/feed.h"
#include "tests/services/net/feed.h"

namespace {

bool write(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return out.good();
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
              write(folder / "recording" / "short.wav", test::short_wav()) &&
              write(folder / "recording" / "floats.wav", test::float_wav());
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
