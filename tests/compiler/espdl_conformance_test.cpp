// Every recorded .espdl case whose operators exist: embedded inputs give the embedded outputs, streamed
// inputs the expected stream. Prints a table of what was run and why the rest was not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "compiler/import/espdl/importer.h"
#include "tests/compiler/compare.h"
#include "tests/compiler/conformance_record.h"
#include "tests/compiler/json_files.h"
#include "tests/compiler/run_graph.h"
#include "tests/support/data.h"

namespace runnel {
namespace {

using compiler::EspdlTarget;
using test::Bytes;
using test::element;
using test::RunnableGraph;

// Cases that ran when this was last raised. Fewer mean that something was lost.
constexpr int kLeastRun = 1104;
constexpr int kLeastStreams = 48;
constexpr int kLeastLinear = 102;

EspdlTarget target_named(const std::string& name) {
  return name == "c" ? EspdlTarget::c : name == "esp32s3" ? EspdlTarget::esp32s3 : EspdlTarget::esp32p4;
}

// What a case allows: |difference| <= absolute + relative * |expected|.
struct Limit {
  double absolute = 0, relative = 0;
};
Limit limit_of(const nlohmann::json& entry) {
  if (entry.contains("tol_abs")) return {entry["tol_abs"], entry["tol_rel"]};
  for (const char* key : {"tol_nearest", "tol_round", "tol"}) {
    if (entry["match"] != "exact" && entry.contains(key)) return {entry[key], 0};
  }
  return {};
}

// Largest difference; a failure when it is beyond the limit.
double compare(const Bytes& expected, const Bytes& found, DType type, const Limit& limit,
               const std::string& what) {
  EXPECT_EQ(expected.size(), found.size()) << what;
  if (expected.size() != found.size()) return INFINITY;
  double largest = 0;
  int bad = 0;
  for (std::size_t i = 0; i < expected.size() / size_of(type); ++i) {
    const double e = element(expected, type, i), f = element(found, type, i), difference = std::abs(e - f);
    largest = std::max(largest, difference);
    if (!(difference <= limit.absolute + limit.relative * std::abs(e)) && bad++ == 0) {
      ADD_FAILURE() << what << ": element " << i << " is " << f << ", expected " << e;
    }
  }
  return largest;
}

Bytes bytes_of(const nlohmann::json& values, DType type) {
  Bytes bytes;
  for (const auto& value : values) {
    const auto integer = value.get<std::int32_t>();
    for (std::size_t i = 0; i < size_of(type); ++i)
      bytes.push_back(static_cast<std::byte>(static_cast<std::uint32_t>(integer) >> (8 * i)));
  }
  return bytes;
}

struct Row {
  int exact = 0, within = 0, failed = 0, streamed = 0, linear = 0, skipped = 0;
  std::string why;
};

class Table {
 public:
  Row& row(const nlohmann::json& entry) {
    return rows_[{entry["op"].get<std::string>() + (entry["kind"] == "stream" ? " (stream)" : ""),
                  entry["bits"].get<int>()}];
  }
  void print() const {
    std::printf("%-24s %4s %6s %7s %7s %8s %7s %8s  %s\n", "operator", "bits", "exact", "within", "failed",
                "streamed", "linear", "skipped", "why");
    Row all;
    for (const auto& [key, row] : rows_) {
      std::printf("%-24s %4d %6d %7d %7d %8d %7d %8d  %s\n", key.first.c_str(), key.second, row.exact,
                  row.within, row.failed, row.streamed, row.linear, row.skipped, row.why.c_str());
      all.exact += row.exact;
      all.within += row.within;
      all.failed += row.failed;
      all.streamed += row.streamed;
      all.linear += row.linear;
      all.skipped += row.skipped;
    }
    std::printf("%-24s %4s %6d %7d %7d %8d %7d %8d\n", "all", "", all.exact, all.within, all.failed,
                all.streamed, all.linear, all.skipped);
  }

  [[nodiscard]] int linear() const {
    int sum = 0;
    for (const auto& [key, row] : rows_) sum += row.linear;
    return sum;
  }

 private:
  std::map<std::pair<std::string, int>, Row> rows_;
};

constexpr std::int64_t kBlocks[] = {1, 2, 4, 8, 50};

bool frame_major(const Model& model, int tensor, int axis) {
  return axis >= 0 && model.tensor(tensor).shape.product(0, axis) == 1;
}

// The whole clip again, streamed with several block sizes. Returns how many sizes were compared.
int check_streamed(const RunnableGraph& graph, const std::vector<Bytes>& inputs,
                   const std::vector<Bytes>& whole, const std::string& what) {
  if (!graph.streams()) return 0;
  const Model& model = graph.model();
  for (const std::int32_t tensor : model.inputs()) {
    if (graph.time_axis(tensor) >= 0 && !frame_major(model, tensor, graph.time_axis(tensor))) return 0;
  }
  int compared = 0;
  for (const std::int64_t block : kBlocks) {
    if (block % graph.block_multiple() != 0) continue;
    const auto streamed = graph.streamed(inputs, block);
    if (!streamed.ok()) {
      ADD_FAILURE() << what << " in blocks of " << block << ": " << streamed.status().text();
      continue;
    }
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ((*streamed)[i], whole[i])
          << what << ": output " << i << " streamed in blocks of " << block << " differs from the whole clip";
      ++compared;
    }
  }
  return compared;
}

class EspdlConformance : public testing::Test {
 protected:
  static void record(const nlohmann::json& entry, std::string result, double largest, std::string note = {}) {
    const Limit limit = limit_of(entry);
    test::record_conformance({"conformance", entry["file"], entry["op"], entry["target"], entry["kind"],
                              entry["bits"], std::move(result), largest, limit.absolute, limit.relative,
                              std::move(note)});
  }

  // The graph of an entry, or null when this build cannot run it (`row` says why).
  std::unique_ptr<RunnableGraph> load(const nlohmann::json& entry, Row& row, compiler::Graph& graph,
                                      bool linear_tables = false) {
    const std::string file = entry["file"];
    const auto bytes = test::read_file(folder_ / file);
    auto imported = compiler::import_espdl(bytes, {target_named(entry["target"]), linear_tables});
    Status status = imported.status();
    if (imported.ok()) {
      graph = std::move(imported->graph);
      auto runnable = RunnableGraph::make(graph);
      if (runnable.ok()) return std::move(runnable).value();
      status = runnable.status();
    }
    if (status.code() == Code::unsupported) {
      ++row.skipped;
      row.why = status.text();
      record(entry, "not run", 0, row.why);
    } else {
      ++row.failed;
      record(entry, "failed", 0, std::string(status.text()));
      ADD_FAILURE() << file << ": " << status.text();
    }
    return nullptr;
  }

  // The same file with interpolated 16-bit tables: far closer to the recorded values than nearest entries
  // are.
  void check_linear(const nlohmann::json& entry, const std::vector<Bytes>& inputs, Row& row) {
    compiler::Graph graph;
    const auto runnable = load(entry, row, graph, true);
    ASSERT_NE(runnable, nullptr);
    const auto outputs = runnable->whole(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().text();
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      for (const auto& value : graph.vectors[0].outputs) {
        if (value.tensor != graph.outputs[i]) continue;
        compare(value.data, (*outputs)[i], graph.tensors[static_cast<std::size_t>(value.tensor)].dtype,
                {entry["tol_interp"], 0}, entry["file"].get<std::string>() + " with interpolated tables");
      }
    }
    check_streamed(*runnable, inputs, *outputs,
                   entry["file"].get<std::string>() + " with interpolated tables");
    ++row.linear;
  }

  // Expectations of the running test that failed so far.
  static int failures() {
    return testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
  }

  std::filesystem::path folder_ = test::data_folder() / "conformance";
};

TEST_F(EspdlConformance, RecordedOutputs) {
  RUNNEL_NEEDS_DATA();
  const nlohmann::json manifest = test::conformance_manifest();
  const char* filter = std::getenv("RUNNEL_CONFORMANCE_FILTER");
  Table table;
  int ran = 0;
  for (const auto& entry : manifest["entries"]) {
    const std::string file = entry["file"];
    if (entry["kind"] == "stream" || (filter != nullptr && file.find(filter) == std::string::npos)) continue;
    Row& row = table.row(entry);
    compiler::Graph graph;
    const auto runnable = load(entry, row, graph);
    if (runnable == nullptr) continue;
    ++ran;
    if (graph.vectors.empty()) {
      ++row.failed;
      record(entry, "failed", 0, "its test values do not fit the graph");
      ADD_FAILURE() << file << ": its test values do not fit the graph";
      continue;
    }
    std::vector<Bytes> inputs;
    for (const compiler::TensorId id : graph.inputs) {
      for (const auto& value : graph.vectors[0].inputs) {
        if (value.tensor == id) inputs.push_back(value.data);
      }
    }
    const auto outputs = runnable->whole(inputs);
    if (!outputs.ok()) {
      ++row.failed;
      record(entry, "failed", 0, std::string(outputs.status().text()));
      ADD_FAILURE() << file << ": " << outputs.status().text();
      continue;
    }
    double largest = 0;
    const int failures_before = failures();
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      for (const auto& value : graph.vectors[0].outputs) {
        if (value.tensor != graph.outputs[i]) continue;
        const DType type = graph.tensors[static_cast<std::size_t>(value.tensor)].dtype;
        largest = std::max(largest, compare(value.data, (*outputs)[i], type, limit_of(entry), file));
      }
    }
    if (entry.contains("tol_interp")) check_linear(entry, inputs, row);
    row.streamed += check_streamed(*runnable, inputs, *outputs, file);
    const bool failed = failures() > failures_before;
    ++(failed ? row.failed : largest == 0 ? row.exact : row.within);
    record(entry, failed ? "failed" : largest == 0 ? "exact" : "within", largest);
  }
  table.print();
  if (filter == nullptr) {
    EXPECT_GE(ran, kLeastRun) << "fewer cases ran than before";
    EXPECT_GE(table.linear(), kLeastLinear) << "fewer cases ran with interpolated tables than before";
  }
}

TEST_F(EspdlConformance, RecordedStreams) {
  RUNNEL_NEEDS_DATA();
  const nlohmann::json manifest = test::conformance_manifest();
  const char* filter = std::getenv("RUNNEL_CONFORMANCE_FILTER");
  Table table;
  int ran = 0;
  for (const auto& entry : manifest["entries"]) {
    if (entry["kind"] != "stream" ||
        (filter != nullptr && entry["file"].get<std::string>().find(filter) == std::string::npos))
      continue;
    const std::string file = entry["file"];
    Row& row = table.row(entry);
    compiler::Graph graph;
    const auto runnable = load(entry, row, graph);
    if (runnable == nullptr) continue;
    ++ran;
    ASSERT_TRUE(runnable->streams()) << file << ": "
                                     << (runnable->written().refusals.empty()
                                             ? ""
                                             : runnable->written().refusals[0]);
    const nlohmann::json sidecar =
        nlohmann::json::parse(std::ifstream(folder_ / entry["json"].get<std::string>()));
    // An explicit state starts at zero; the session carries it, which is what copying it from call to call
    // comes to.
    const Model& model = runnable->model();
    const std::string state_in = sidecar.contains("state") ? sidecar["state"]["input"] : "",
                      state_out = sidecar.contains("state") ? sidecar["state"]["output"] : "";
    std::vector<Bytes> inputs;
    for (const std::int32_t input : model.inputs()) {
      if (model.tensor_name(input) == state_in)
        inputs.emplace_back(model.tensor(input).bytes());
      else
        inputs.push_back(bytes_of(sidecar["stream_input"]["data"], model.tensor(input).dtype));
    }
    const std::size_t result = model.tensor_name(model.outputs()[0]) == state_out ? 1 : 0;
    ASSERT_LT(result, model.outputs().size()) << file;
    const DType out = model.tensor(model.outputs()[result]).dtype;
    const Bytes expected = bytes_of(sidecar["stream_expected"]["data"], out);
    std::vector<std::int64_t> blocks(std::begin(kBlocks), std::end(kBlocks));
    blocks.push_back(entry["chunk"]);
    double largest = 0;
    const int failures_before = failures();
    for (const std::int64_t block : blocks) {
      if (block % runnable->block_multiple() != 0) continue;
      const std::string what = file + " in blocks of " + std::to_string(block);
      const auto outputs = runnable->streamed(inputs, block);
      ASSERT_TRUE(outputs.ok()) << what << ": " << outputs.status().text();
      largest = std::max(largest, compare(expected, (*outputs)[result], out, limit_of(entry), what));
      ++row.streamed;
    }
    const bool failed = failures() > failures_before;
    ++(failed ? row.failed : largest == 0 ? row.exact : row.within);
    record(entry, failed ? "failed" : largest == 0 ? "exact" : "within", largest);
  }
  table.print();
  if (filter == nullptr) {
    EXPECT_GE(ran, kLeastStreams) << "fewer cases ran than before";
  }
}

}  // namespace
}  // namespace runnel
