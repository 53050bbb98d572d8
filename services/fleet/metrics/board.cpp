#include "services/fleet/metrics/board.h"

#include <cstdio>
#include <string_view>
#include <utility>

#include "services/fleet/entry.h"
#include "services/serve/metrics.h"

namespace runnel::fleet {
namespace {

// Names of workers and streams come from outside.
std::string label_text(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\\' || letter == '"') out += '\\';
    if (letter == '\n')
      out += "\\n";
    else
      out += letter;
  }
  return out;
}

std::string html_text(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

std::string digits(double number, const char* format) {
  char out[64];
  std::snprintf(out, sizeof out, format, number);
  return out;
}

class Metrics {
 public:
  void begin(const std::string& name, const char* type, const char* help) {
    name_ = "runnel_work_" + name;
    text_ += "# HELP " + name_ + ' ' + help + "\n# TYPE " + name_ + ' ' + type + '\n';
  }
  void value(std::string_view label, std::string_view of, double number) {
    text_ += name_;
    if (!label.empty()) text_ += '{' + std::string(label) + "=\"" + label_text(of) + "\"}";
    text_ += digits(number, " %.17g\n");
  }
  template <class T>
  void one(const std::string& name, const char* type, const char* help, const T& number) {
    begin(name, type, help);
    value({}, {}, static_cast<double>(number));
  }
  template <class T>
  void count(const std::string& name, const char* help, const T& number) {
    one(name + "_total", "counter", help, number);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_, name_;
};

}  // namespace

std::string prometheus_of(const WorkerReport& report) {
  const WorkerFacts& facts = report.facts;
  const ChunkCounts& chunks = facts.chunks;
  Metrics out;
  out.begin("info", "gauge", "The name of this worker.");
  out.value("worker", report.worker, 1);
  out.one("connected", "gauge", "Whether a server of messages is connected.", report.connected ? 1 : 0);
  out.begin("streams", "gauge", "Streams that this worker owns, by graph.");
  for (const auto& [graph, count] : facts.graphs)
    out.value("graph", digits_of(graph), static_cast<double>(count));
  out.begin("fleet_streams", "gauge", "Streams of every worker that lives, as this one knows.");
  for (const auto& [worker, count] : facts.shares) out.value("worker", worker, static_cast<double>(count));
  out.one("fleet_streams_known", "gauge", "Streams of the fleet.", facts.known);
  out.one("fleet_workers", "gauge", "Workers that live.", facts.workers);
  out.count("streams_taken", "Streams that this worker took.", facts.taken);
  out.count("streams_handed_over", "Streams that it gave to another one.", facts.handed_over);
  out.count("streams_lost", "Streams that another one took from it, or went further with.", facts.lost);
  out.count("streams_refused", "Streams whose graph or model is not here.", facts.refused);
  out.count("owners_corrected", "Streams of which their entry said whose they are before a note did.",
            facts.corrected);
  out.count("graphs_changed", "Changes of graphs of its streams.", facts.changed);
  out.count("events", "Events that it stored.", facts.events);
  out.count("events_repeated", "Events computed again, which were stored already.", chunks.repeated_events);
  out.count("chunks", "Chunks heard.", chunks.heard);
  out.count("chunks_repeated",
            "Chunks heard that were in the log before their stream was taken: again, or for the first time.",
            facts.behind);
  out.count("chunks_doubled", "Chunks whose samples were there before.", chunks.doubled);
  out.count("chunks_set_apart", "Chunks that cannot be used.", chunks.set_apart);
  out.count("gaps", "Gaps in streams.", chunks.gaps);
  out.count("gaps_doubted", "Gaps that might have been a hole of one copy of the log.", chunks.doubted);
  out.count("gaps_believed", "Of those: no other copy had more.", chunks.believed);
  out.count("chunks_mended", "Chunks that one copy of the log lacked, and another one had.", chunks.mended);
  out.count("lost_samples", "Samples that never came.", chunks.lost);
  out.count("snapshots", "Saved states.", facts.saves);
  out.count("snapshot_bytes", "Bytes of saved states.", facts.saved_bytes);
  out.count("sent_bytes", "Data of messages sent.", report.sent_bytes);
  out.begin("lateness_seconds", "gauge",
            "Time from the arrival of a chunk to the end of the step that heard it, since the start.");
  out.value("quantile", "0.5", report.lateness_p50);
  out.value("quantile", "0.99", report.lateness_p99);
  out.value("quantile", "1", report.lateness_largest);
  out.count("processor_seconds", "Processor time of the program.", serve::processor_seconds());
  out.one("resident_bytes", "gauge", "Memory of the program.", serve::resident_bytes());
  return out.take();
}

std::string document_of(const WorkerReport& report) {
  const WorkerFacts& facts = report.facts;
  std::string out =
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" "
      "content=\"2\">"
      "<title>" +
      html_text(report.worker) +
      "</title><style>body{font:15px "
      "sans-serif;margin:2em;color:#222}table{border-collapse:collapse;margin:1em 0}"
      "td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid "
      "#ddd}td.n{text-align:right}</style></head>"
      "<body><h1>" +
      html_text(report.worker) + "</h1>";
  if (!report.connected) out += "<p>No server of messages is connected.</p>";
  const auto table = [&](std::string_view head) { out += "<table>" + std::string(head); };
  const auto row = [&](std::string_view name, const std::string& value) {
    out += "<tr><td>" + html_text(name) + "</td><td class=\"n\">" + html_text(value) + "</td></tr>";
  };
  table("<tr><th>worker</th><th>streams</th></tr>");
  for (const auto& [worker, count] : facts.shares) row(worker, std::to_string(count));
  out += "</table>";
  table("<tr><th>this worker</th><th></th></tr>");
  row("streams", std::to_string(facts.streams));
  for (const auto& [graph, count] : facts.graphs) row("of graph " + digits_of(graph), std::to_string(count));
  row("late, half of the chunks, ms", digits(1e3 * report.lateness_p50, "%.1f"));
  row("late, 99 %, ms", digits(1e3 * report.lateness_p99, "%.1f"));
  row("chunks", std::to_string(facts.chunks.heard));
  row("chunks repeated", std::to_string(facts.behind));
  row("chunks set apart", std::to_string(facts.chunks.set_apart));
  row("gaps", std::to_string(facts.chunks.gaps));
  row("gaps doubted", std::to_string(facts.chunks.doubted));
  row("of those believed", std::to_string(facts.chunks.believed));
  row("chunks that one copy of the log lacked", std::to_string(facts.chunks.mended));
  row("events", std::to_string(facts.events));
  row("snapshots", std::to_string(facts.saves));
  row("streams refused", std::to_string(facts.refused));
  out += "</table>";
  table("<tr><th>stream</th><th>graph</th></tr>");
  for (const auto& [stream, graph] : facts.own) row(stream, digits_of(graph));
  if (facts.streams > facts.own.size())
    row("and " + std::to_string(facts.streams - facts.own.size()) + " more", "");
  return out + "</table></body></html>\n";
}

}  // namespace runnel::fleet
