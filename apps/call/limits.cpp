#include "apps/call/limits.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/host/read_line.h"
#include "base/limits.h"
#include "base/state_archive.h"
#include "decoding/prefix_beam.h"
#include "inference/model/model.h"
#include "pipeline/host/graph.h"

namespace runnel::apps {
namespace {

// Constants in headers that most of the tree includes keep their values; they are the same.
static_assert(kMaxRank == limits::kModelAxes);
static_assert(kLongestLine == limits::kTextLineBytes);
static_assert(StateArchive::kMostIndex == limits::kRecordingFrames);
static_assert(decoding::kMostBeam == limits::kSearchBeam);
static_assert(pipeline::kMaxGraphThreads == limits::kThreads);

struct Row {
  const char* group;
  std::uint64_t value;
  const char* unit;  // "bytes": with a prefix where that is exact
  const char* of;
};

// In the order of base/limits.h, each of whose constants is here (a test compares them).
constexpr const char* kModels = "Models";
constexpr const char* kUntrusted = "Untrusted files";
constexpr const char* kRecordings = "Recordings, tables and text";
constexpr const char* kMessages = "Messages";
constexpr const char* kClients = "Clients, streams, readers and queues";
constexpr const char* kPictures = "Pictures";
constexpr const char* kWords = "Vocabularies";
constexpr const Row kRows[] = {
    {kModels, limits::kModelBytes, "bytes", "a model file"},
    {kModels, limits::kManifestBytes, "bytes", "a manifest beside a model"},
    {kModels, limits::kModelTensors, "tensors", "a model"},
    {kModels, limits::kModelOperators, "operators", "a model"},
    {kModels, limits::kModelOperands, "operands", "an operator"},
    {kModels, limits::kCustomNameBytes, "bytes", "the name of an application's operator"},
    {kModels, limits::kModelDimension, "", "a dimension of a tensor"},
    {kModels, limits::kModelAxes, "axes", "a tensor"},
    {kModels, limits::kTensorBytes, "bytes", "a tensor"},
    {kModels, limits::kModelQuantizationEntries, "quantization entries", "a model's tensors in all"},
    {kModels, limits::kImportedElements, "elements", "a tensor in a foreign file"},
    {kModels, limits::kComputedElements, "elements", "a tensor that foreign operators make"},
    {kModels, limits::kImportedOperators, "operators", "a .tflite or .espdl file"},
    {kModels, limits::kProgramValues, "values", "a .pte file"},
    {kModels, limits::kProgramInstructions, "instructions", "a .pte file"},
    {kModels, limits::kImportedAxes, "axes", "a tensor in an .onnx or .pte file"},
    {kModels, limits::kMessageNesting, "levels", "messages in messages of an .onnx file"},
    {kModels, limits::kBranchNesting, "levels", "If in If of an .onnx file"},
    {kModels, limits::kPackageModels, "models", "an .espdl package that is written"},
    {kModels, limits::kPackageNameBytes, "bytes", "the name of a model in a package"},
    {kModels, limits::kBlockFrames, "frames", "a block that a model is prepared for"},
    {kModels, limits::kDownloadBytes, "bytes", "a download whose size the catalogue does not say"},
    {kUntrusted, limits::kSmallFileBytes, "bytes", "a small file: a smaller one has the next two limits"},
    {kUntrusted, limits::kSmallFileMemory, "bytes", "memory for a small file (--max-memory)"},
    {kUntrusted, limits::kSmallFileSeconds, "s", "processor time for a small file (--max-seconds)"},
    {kUntrusted, limits::kSandboxAnswerBytes, "bytes", "a result out of the sandbox"},
    {kUntrusted, limits::kSandboxTextBytes, "bytes", "text out of the sandbox"},
    {kUntrusted, limits::kSandboxFiles, "files", "what one reader in the sandbox gets"},
    {kRecordings, limits::kRecordingChannels, "channels", "a recording"},
    {kRecordings, limits::kRecordingRate, "Hz", "a recording"},
    {kRecordings, limits::kRecordingFrames, "samples", "the length of a stream or recording"},
    {kRecordings, limits::kTableChannels, "channels", "a table or an array"},
    {kRecordings, limits::kTextLineBytes, "bytes", "a line of text"},
    {kRecordings, limits::kSmallTextBytes, "bytes", "a graph, a file of settings, a token"},
    {kRecordings, limits::kJsonNesting, "levels", "JSON of recordings, manifests and messages"},
    {kRecordings, limits::kStatisticsBytes, "bytes", "a file of statistics"},
    {kMessages, limits::kGreetingBytes, "bytes", "the first message of a client of serve"},
    {kMessages, limits::kStreamChannels, "channels", "a client's stream"},
    {kMessages, limits::kStreamRate, "Hz", "a client's stream"},
    {kMessages, limits::kSocketMessageBytes, "bytes", "a message of a WebSocket"},
    {kMessages, limits::kWyomingMessageBytes, "bytes", "the sound in a message of the Wyoming protocol"},
    {kMessages, limits::kWyomingNames, "names", "a message of the Wyoming protocol"},
    {kMessages, limits::kFleetChunkBytes, "bytes", "a message of a fleet"},
    {kMessages, limits::kFleetPreambleBytes, "bytes", "headers in the data of such a message"},
    {kMessages, limits::kFleetModelBytes, "bytes", "a model that travels in a fleet"},
    {kMessages, limits::kFleetModels, "models", "a graph that travels in a fleet"},
    {kMessages, limits::kFleetRules, "rules", "a fleet"},
    {kClients, limits::kServeStreams, "streams", "--max-streams of serve"},
    {kClients, limits::kWyomingClients, "clients", "the Wyoming protocol, at a time"},
    {kClients, limits::kWorkerStreams, "streams", "a worker of a fleet"},
    {kClients, limits::kPageReaders, "readers", "a live page"},
    {kClients, limits::kPageQueueBytes, "bytes", "what waits for slow readers of a page"},
    {kClients, limits::kUnsentBytes, "bytes", "answers that a client has not taken"},
    {kClients, limits::kSpoolBytes, "bytes", "the spool of a sender"},
    {kClients, limits::kRecordsAtOnce, "files", "recordings of events that are written at a time"},
    {kClients, limits::kThreads, "threads", "a graph or a model"},
    {kPictures, limits::kPictureRows, "rows", "a picture of features"},
    {kPictures, limits::kPictureColumns, "columns", "a picture of features"},
    {kWords, limits::kTokenBytes, "bytes", "a token of a vocabulary"},
    {kWords, limits::kWordGraphNodes, "nodes", "a graph of words"},
    {kWords, limits::kGrammarStates, "states", "a grammar"},
    {kWords, limits::kSearchBeam, "hypotheses", "a search"},
};

std::string amount(std::uint64_t value, std::string_view unit) {
  if (unit == "bytes") {
    constexpr std::string_view kPrefixes[] = {"TiB", "GiB", "MiB", "KiB"};
    for (int i = 0; i < 4; ++i) {
      const int shift = 40 - 10 * i;
      if (value >> shift > 0 && (value >> shift) << shift == value)
        return fmt::format("{} {}", value >> shift, kPrefixes[i]);
    }
  }
  return unit.empty() ? std::to_string(value) : fmt::format("{} {}", value, unit);
}

}  // namespace

std::string limits_text() {
  std::string text = "What is accepted from outside, at most:\n";
  std::string_view group;
  for (const Row& row : kRows) {
    if (group != row.group) text += fmt::format("\n{}\n", row.group);
    group = row.group;
    text += fmt::format("  {:<30} {}\n", amount(row.value, row.unit), row.of);
  }
  return text;
}

}  // namespace runnel::apps
