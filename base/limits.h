// What is accepted from outside at most: the one place of these numbers. `runnel help limits` prints them,
// and docs/security.md has the same table. Constants with a use in one file keep their own names there and
// take their value from here.
//
// Device code: constants only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace runnel::limits {

// Models.
inline constexpr std::uint64_t kModelBytes = std::uint64_t{1} << 31;      // of a model file
inline constexpr std::uint64_t kManifestBytes = std::uint64_t{1} << 20;   // of a manifest beside a model
inline constexpr std::uint32_t kModelTensors = 65535;                     // of a .rnl file
inline constexpr std::uint32_t kModelOperators = 65535;                   // of a .rnl file
inline constexpr std::uint32_t kModelOperands = 256;                      // of one operator
inline constexpr std::uint32_t kCustomNameBytes = 256;                    // of an application's operator
inline constexpr std::int32_t kModelDimension = 1 << 24;                  // of a tensor of a .rnl file
inline constexpr int kModelAxes = 6;                                      // of a tensor of a .rnl file
inline constexpr std::int64_t kTensorBytes = std::int64_t{1} << 31;       // of one tensor
inline constexpr std::uint32_t kModelQuantizationEntries = 1u << 24;      // of all tensors of a .rnl file
inline constexpr std::int64_t kImportedElements = std::int64_t{1} << 28;  // of a tensor in a foreign file
inline constexpr std::int64_t kComputedElements = std::int64_t{1}
                                                  << 30;        // of a tensor that foreign operators make
inline constexpr std::size_t kImportedOperators = 100'000;      // of a .tflite or .espdl file
inline constexpr std::size_t kProgramValues = 1'000'000;        // of a .pte file
inline constexpr std::size_t kProgramInstructions = 1'000'000;  // of a .pte file
inline constexpr std::size_t kImportedAxes = 16;                // of a tensor in an .onnx or .pte file
inline constexpr int kMessageNesting = 64;                      // of an .onnx file's messages
inline constexpr int kBranchNesting = 32;                       // of If in If in an .onnx file
inline constexpr std::size_t kPackageModels = 4096;             // of an .espdl package that is written
inline constexpr std::size_t kPackageNameBytes = 4096;          // of a model in an .espdl package
inline constexpr std::int64_t kBlockFrames = std::int64_t{1} << 30;      // that one call takes
inline constexpr std::uint64_t kDownloadBytes = std::uint64_t{1} << 30;  // of a file from an unlisted address

// Untrusted files, where --max-memory and --max-seconds say nothing else.
inline constexpr std::uint64_t kSmallFileBytes = std::uint64_t{1}
                                                 << 20;  // what is smaller has the next two limits
inline constexpr std::uint64_t kSmallFileMemory = std::uint64_t{1} << 30;  // to read and prepare it
inline constexpr std::uint32_t kSmallFileSeconds = 10;                     // of processor time, for the same
inline constexpr std::uint64_t kSandboxAnswerBytes = std::uint64_t{1} << 32;  // of a result
inline constexpr std::uint64_t kSandboxTextBytes = std::uint64_t{1} << 28;    // that is printed
inline constexpr int kSandboxFiles = 16;                                      // that one reader gets

// Recordings and tables.
inline constexpr int kRecordingChannels = 1024;                          // of a recording
inline constexpr int kRecordingRate = 10'000'000;                        // Hz
inline constexpr std::int64_t kRecordingFrames = std::int64_t{1} << 46;  // positions of a stream
inline constexpr std::size_t kTableChannels = 4096;                      // columns of tables and arrays
inline constexpr std::size_t kTextLineBytes = std::size_t{1} << 20;      // of a line of text
inline constexpr std::size_t kSmallTextBytes = std::size_t{1}
                                               << 20;  // of graphs, settings, tokens of clients, lists
inline constexpr int kJsonNesting = 64;                // of lists of recordings, manifests, messages
inline constexpr std::size_t kStatisticsBytes = std::size_t{1} << 22;  // of a file of statistics

// Messages.
inline constexpr std::size_t kGreetingBytes = 4096;                        // of serve: the first message
inline constexpr int kStreamChannels = 8;                                  // of a client's stream
inline constexpr int kStreamRate = 768'000;                                // Hz, of a client's stream
inline constexpr std::size_t kSocketMessageBytes = std::size_t{1} << 18;   // of a WebSocket's message
inline constexpr std::size_t kWyomingMessageBytes = std::size_t{1} << 18;  // of sound in a message of Wyoming
inline constexpr std::size_t kWyomingNames = 1000;                         // of models in a message
inline constexpr std::size_t kFleetChunkBytes = std::size_t{1} << 20;      // of a message of a fleet
inline constexpr std::size_t kFleetPreambleBytes = 256;                    // of headers in the data
inline constexpr std::uint64_t kFleetModelBytes = std::uint64_t{256} << 20;  // of a model that travels
inline constexpr std::size_t kFleetModels = 16;                              // of a graph that travels
inline constexpr std::size_t kFleetRules = 1024;                             // of a fleet

// Clients, streams, readers and queues.
inline constexpr int kServeStreams = 65'536;                          // --max-streams at most
inline constexpr int kWyomingClients = 64;                            // at a time
inline constexpr std::size_t kWorkerStreams = 4096;                   // of a worker
inline constexpr int kPageReaders = 50;                               // of a live page
inline constexpr std::size_t kPageQueueBytes = std::size_t{1} << 20;  // for slow readers of a page
inline constexpr std::size_t kUnsentBytes = std::size_t{1} << 16;     // answers that a client has not taken
inline constexpr std::uint64_t kSpoolBytes = std::uint64_t{1} << 40;  // of a sender's spool on disk
inline constexpr std::size_t kRecordsAtOnce = 16;  // recordings that events write at a time
inline constexpr int kThreads = 32;                // of a graph or a model

// Pictures.
inline constexpr int kPictureRows = 1024;     // of a picture of features
inline constexpr int kPictureColumns = 8192;  // of a picture of features

// Vocabularies.
inline constexpr std::size_t kTokenBytes = 255;            // of one token
inline constexpr std::size_t kWordGraphNodes = 1'000'000;  // of a graph of words
inline constexpr std::size_t kGrammarStates = 20'000;      // of a grammar
inline constexpr int kSearchBeam = 1024;                   // hypotheses of a search

}  // namespace runnel::limits
