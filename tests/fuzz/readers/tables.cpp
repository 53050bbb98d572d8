// Numbers and lists of recordings: arrays, tables, labels, records of runs, truth, lists and journals.
#include <cstdio>
#include <memory>

#include "base/host/npy.h"
#include "compiler/quantize/calibrate/table_clips.h"
#include "compiler/quantize/choose/evaluate.h"
#include "pipeline/host/graph.h"
#include "services/batch/journal.h"
#include "services/batch/recordings/recording.h"
#include "services/score/score.h"
#include "tests/fuzz/readers/memory_file.h"
#include "tests/fuzz/readers/reader.h"

namespace runnel::fuzz {
namespace {

Status run(const std::string& text) {
  RUNNEL_ASSIGN(const auto graph, pipeline::Graph::build(text, {}));
  return graph->run();
}

// The first byte chooses among settings of whoever reads it.
std::size_t choice(std::span<const std::byte>& bytes) {
  if (bytes.empty()) return 0;
  const auto chosen = std::to_integer<std::size_t>(bytes.front());
  bytes = bytes.subspan(1);
  return chosen;
}

Status feed_npy(std::span<const std::byte> bytes) {
  static MemoryFile file(".npy");
  const std::string& path = file.with(bytes);
  if (const auto array = read_npy(path); array.ok()) {
    std::size_t size = size_of(array->dtype);
    for (const std::int64_t one : array->shape) size *= static_cast<std::size_t>(one);
    insist(size == array->data.size(), "an array of another size than its shape");
  }
  return run("npy path='" + path + "' rate=100 ! null");
}

Status feed_csv(std::span<const std::byte> bytes) {
  constexpr const char* kSettings[] = {
      "rate=10",
      "rate=10 decimal=comma",
      "time=1 max_gap=60",
      "time=1 time_unit=iso8601 max_gap=60 missing=hold irregular=accept",
      "time=1 time_unit=ms gaps=error out_of_order=drop",
      "rate=10 missing=gap header=yes",
      "rate=10 missing=fill separator=space",
  };
  const std::size_t chosen = choice(bytes) % std::size(kSettings);
  static MemoryFile file(".csv");
  return run("csv path='" + file.with(bytes) + "' " + kSettings[chosen] + " ! null");
}

Status feed_labels(std::span<const std::byte> bytes) {
  static MemoryFile lines(".txt"), table(".csv"), words(".i32");
  MemoryFile* const files[] = {&lines, &table, &words};
  const std::size_t chosen = choice(bytes) % std::size(files);
  return compiler::quantizer::read_labels(files[chosen]->with(bytes)).status();
}

Status feed_number_table(std::span<const std::byte> bytes) {
  static MemoryFile file(".csv");
  compiler::quantizer::TableOptions options;
  if (choice(bytes) % 2 == 1) options.columns = {"a", "2"};
  RUNNEL_ASSIGN(const auto table, compiler::quantizer::read_number_table(file.with(bytes), options));
  insist(table.columns > 0 && table.values.size() % table.columns == 0, "half a line of a table");
  return {};
}

Status feed_records(std::span<const std::byte> bytes) {
  static MemoryFile file(".jsonl");
  RUNNEL_ASSIGN(const pipeline::RunRecords run, pipeline::read_records(file.with(bytes)));
  pipeline::Truth truth;
  truth.spans = true;
  truth.rows = {{"", "a", 0, 1}, {"", "b", 2, 3}};
  if (const auto score = pipeline::score_run(run, truth); score.ok())
    insist(!pipeline::to_json(*score).empty(), "a score without text");
  return {};
}

Status feed_truth(std::span<const std::byte> bytes) {
  static MemoryFile file;
  RUNNEL_ASSIGN(const pipeline::Truth truth, pipeline::read_truth(file.with(bytes)));
  pipeline::RunRecords run;
  run.events = {{"x.wav", "a", 0.5, 0, 1}, {"y.wav", "b", 1, 2, 3}};
  if (const auto score = pipeline::score_run(run, truth); score.ok())
    insist(!pipeline::to_json(*score).empty(), "a score without text");
  return {};
}

// A line of a manifest; what is written of it is read again.
Status feed_recording_list(std::span<const std::byte> bytes) {
  const auto read = choice(bytes) % 2 == 0 ? batch::parse_recording : batch::parse_listed;
  RUNNEL_ASSIGN(const batch::Recording recording, read(text_of(bytes)));
  insist(recording.named <= recording.path.size(), "a name behind its path");
  insist(recording.path.find('\0') == std::string::npos, "a path with a zero");
  static_cast<void>(recording.cost());
  static_cast<void>(batch::with_fields("{\"a\":1}", recording));
  const auto again = batch::parse_listed(batch::to_line(recording));
  insist(again.ok() && again->path == recording.path && again->id == recording.id,
         "a recording that is another one when it was written");
  insist(!recording.key().empty() || recording.path.empty(), "a recording without a key");
  return {};
}

// Lines without their checksums, which are added here: nobody would get far otherwise.
Status feed_journal(std::span<const std::byte> bytes) {
  static MemoryFile file(".journal");
  std::string text;
  const bool seals = choice(bytes) % 4 != 0;
  for (std::string_view rest = text_of(bytes); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (seals && !line.empty())
      text += batch::sealed(line);
    else
      text += std::string(line) + '\n';
  }
  RUNNEL_ASSIGN(batch::JournalReader reader, batch::JournalReader::open(file.with(bytes_of(text))));
  insist(static_cast<std::int64_t>(reader.recordings().size()) == reader.head().here,
         "a journal of other recordings");
  batch::JournalEntry entry;
  while (reader.next(entry))
    insist(reader.sound_bytes() <= static_cast<std::int64_t>(text.size()), "more than the file has");
  return {};
}

std::string npy_seed() {
  const std::int64_t shape[] = {3, 2};
  return npy_header(DType::int16, shape) + std::string(12, '\1');
}

}  // namespace

std::vector<Reader> table_readers() {
  batch::Recording recording;
  recording.path = "a/b.wav";
  recording.id = "b";
  recording.fields = R"({"speaker":7})";
  batch::JournalHead head;
  head.total = head.here = 1;
  const auto bare = [](std::string line) {  // without its checksum
    return line.substr(0, line.rfind(",\"sum\"")) + "}\n";
  };
  batch::JournalEntry entry;
  entry.length = 10;
  const std::string listed = batch::to_line(recording);
  return {
      {"npy", feed_npy, {npy_seed()}},
      {"csv",
       feed_csv,
       {std::string("\0", 1) + "a,b\n1,2\n3,-4.5e1\n", "\1a;b\n1,5;2\n3;4\n", "\2t,a\n0,1\n0.1,2\n0.2,3\n",
        "\3time,a\n2024-05-01T12:00:00.250Z,1\n2024-05-01T12:00:00.350Z,2\n", "\4t,a\n0,1\n100,2\n200,3\n",
        "\5# x\n\na\tb\n\"1\"\t\n2\t3\n",
        "\6"
        "1 2\n3 4\n"}},
      {"labels",
       feed_labels,
       {std::string("\0", 1) + "1\n0\n2\n", "\1id,label_id\na,3\nb,0\n",
        std::string("\2\1\0\0\0\2\0\0\0", 9)}},
      {"number_table", feed_number_table, {std::string("\0", 1) + "1,2\n3,4\n", "\1a,b,c\n1,2,3\n4;5;6\n"}},
      {"records",
       feed_records,
       {R"({"type":"event","source":"x.wav","label":"a","score":0.9,"start":0.1,"end":0.4})"
        "\n"
        R"({"type":"final","source":"x.wav","text":"b","start":2,"end":2.5,"words":[{"confidence":0.5}]})"
        "\n"
        R"({"type":"summary","audio_seconds":3})"
        "\n"}},
      {"truth",
       feed_truth,
       {"file,label,start,end\nx.wav,a,0,1\ny.wav,\"b, c\",2,3\n", "file,label\nx.wav,a\ny.wav,b\n",
        R"({"events":[{"label":"a","start":0.5,"end":1.5}]})", "x.wav\tone two\ny.wav\tthree\n"}},
      {"recording_list",
       feed_recording_list,
       {std::string("\0", 1) + R"({"path":"file:///a/b%20c.wav","id":7,"offset":1.5,"duration":2,"x":[1]})",
        std::string("\0", 1) + R"({"path":"a.wav"})", "\1" + listed.substr(0, listed.find('\n'))}},
      {"journal",
       feed_journal,
       {"\1" + bare(batch::to_line(head)) + bare(listed) + bare(batch::to_line(entry)) +
        bare(batch::end_line(10))}},
  };
}

}  // namespace runnel::fuzz
