// runnel merge: merges the outputs of all shards of a batch.
#include "services/batch/merge.h"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/call/forms.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_file.h"
#include "base/host/output_name.h"

namespace runnel::apps {
namespace {

struct MergeCall {
  std::vector<std::string> shards;
  std::string output;
};

Status run_merge(const MergeCall& call) {
  const std::vector<std::filesystem::path> shards(call.shards.begin(), call.shards.end());
  std::optional<OutputFile> file;
  if (call.output != "-") {
    std::error_code error;
    for (const std::filesystem::path& shard : shards) {
      if (std::filesystem::equivalent(shard, call.output, error))
        return Status(Code::invalid_argument) << call.output << ": is a shard and the output";
    }
    if (is_recording_name(call.shards[0]))
      return Status(Code::invalid_argument)
             << call.shards[0] << ": is a recording, expected an output of `runnel batch --shard`";
    const std::string ending = shards[0].extension().string();
    RUNNEL_TRY(
        check_output_name(call.output, {ending.empty() ? ".jsonl" : std::string_view(ending), ".ndjson"}));
    RUNNEL_ASSIGN(file, OutputFile::create(call.output));
  }
  const auto write = [&](std::string_view text) -> Status {
    if (file) return file->write(text);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
      return Status(Code::io_error, "stdout cannot be written");
    return {};
  };
  std::optional<batch::IndexFiles> index;
  const auto write_index = [&](batch::OutputFormat format, std::string_view line, std::int64_t at) -> Status {
    if (!file)
      return Status(Code::invalid_argument)
             << "-o -: the format " << batch::name_of(format) << " comes with an index, expected a file";
    if (!index) {
      RUNNEL_ASSIGN(index, batch::IndexFiles::create(call.output, format));
    }
    return index->add(line, at);
  };
  RUNNEL_ASSIGN(const batch::Merged merged, batch::merge(shards, write, write_index));
  const batch::Totals& totals = merged.totals;
  if (index) RUNNEL_TRY(index->commit(totals, merged.timing));
  if (file) RUNNEL_TRY(file->commit());
  say(std::to_string(totals.recordings) + " recordings of " + std::to_string(shards.size()) + " shards, " +
      std::to_string(totals.failures) + " failed");
  return {};
}

}  // namespace

void add_merge(Verb verb, int& exit_code) {
  auto call = std::make_shared<MergeCall>();
  verb.positional(
          "SHARD", call->shards,
          "Outputs of `batch --shard` or of all workers of a queue (`batch --queue`), in any order, with "
          "their journals in the same folder")
      .required()
      .default_str("");
  verb.option("-o,--output", call->output, "File to write; - is stdout").required();
  verb.callback([call, &exit_code] {
    if (const Status status = run_merge(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
