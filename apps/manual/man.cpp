#include "apps/manual/man.h"

#include <algorithm>
#include <cctype>

namespace runnel::apps {
namespace {

// Text as roff: backslashes and hyphens are escaped, a line does not begin with a control character.
std::string roff(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\\')
      out += "\\e";
    else if (letter == '-')
      out += "\\-";
    else if (letter == '\n')
      out += ' ';
    else
      out += letter;
  }
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out.insert(0, "\\&");
  return out;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string heading(const std::string& name, const std::string& version, const std::string& date) {
  return ".TH " + upper(roff(name)) + " 1 " + date + " \"runnel " + version + "\" \"runnel\"\n";
}

void add_option(std::string& out, const OptionFacts& option) {
  out += ".TP\n";
  if (option.positional) {
    out += italic(option.names[0]);
  } else {
    for (std::size_t i = 0; i < option.names.size(); ++i) out += (i > 0 ? ", " : "") + bold(option.names[i]);
    if (!option.value.empty()) out += " " + italic(option.value);
  }
  out += "\n" + roff(option.help) + ".\n";
  const auto add = [&out](const std::string& text) { out += roff(text) + "\n"; };
  if (!option.choices.empty()) {
    std::string list;
    for (const std::string& choice : option.choices) list += (list.empty() ? "" : ", ") + choice;
    add("One of: " + list + ".");
  }
  if (!option.range.empty()) add("Range: " + option.range + ".");
  if (!option.default_text.empty()) add("Default: " + option.default_text + ".");
  if (option.required) add("Required.");
  if (option.repeated && !option.positional) add("May be given several times.");
}

void add_synopsis(std::string& out, const std::string& name, const VerbFacts& verb) {
  out += ".B " + roff(name) + "\n";
  for (const OptionFacts& option : verb.options) {
    if (!option.positional) continue;
    const std::string word = italic(option.names[0]) + (option.repeated ? " ..." : "");
    out += (option.required ? word : "[" + word + "]") + "\n";
  }
  out += "[\\fIoptions\\fR]\n";
}

void add_options(std::string& out, const VerbFacts& verb) {
  std::vector<std::string> headings;
  for (const OptionFacts& option : verb.options) {
    if (std::ranges::find(headings, option.heading) == headings.end()) headings.push_back(option.heading);
  }
  for (const std::string& each : headings) {
    if (!each.empty()) out += ".SS " + roff(each) + "\n";
    for (const OptionFacts& option : verb.options) {
      if (option.heading == each) add_option(out, option);
    }
  }
}

void add_footer(std::string& out, const VerbFacts& verb) {
  if (!verb.footer.empty()) out += ".PP\n" + roff(verb.footer) + "\n";
}

void add_example(std::string& out, const VerbFacts& verb) {
  if (!verb.example.empty()) out += ".SH EXAMPLE\n.nf\n" + roff(verb.example) + "\n.fi\n";
}

constexpr const char* kConventions =
    ".SH OUTPUT AND EXIT STATUS\n"
    "Standard output has the data, standard error the messages.\n"
    "The exit status is 0 if all that was asked for was done, 1 if not, and 2 for a wrong call.\n";

std::string verb_page(const VerbFacts& verb, const std::string& version, const std::string& date) {
  const std::string name = "runnel " + verb.name;
  std::string out = heading("runnel-" + verb.name, version, date);
  out += ".SH NAME\nrunnel\\-" + roff(verb.name) + " \\- " + roff(verb.help) + "\n";
  out += ".SH SYNOPSIS\n";
  add_synopsis(out, name, verb);
  for (const VerbFacts& sub : verb.verbs) {
    out += ".br\n";
    add_synopsis(out, name + " " + sub.name, sub);
  }
  out += ".SH OPTIONS\n";
  add_options(out, verb);
  add_footer(out, verb);
  for (const VerbFacts& sub : verb.verbs) {
    out += ".SH " + upper(roff(verb.name + " " + sub.name)) + "\n" + roff(sub.help) + ".\n";
    add_options(out, sub);
    add_footer(out, sub);
  }
  add_example(out, verb);
  return out + kConventions + ".SH SEE ALSO\n.BR runnel (1)\n";
}

std::string program_page(const VerbFacts& program, const std::string& version, const std::string& date) {
  std::string out = heading("runnel", version, date);
  out += ".SH NAME\nrunnel \\- trained audio and sensor models on streams\n";
  out += ".SH SYNOPSIS\n.B runnel\n\\fIVERB\\fR [\\fIoptions\\fR]\n";
  out += ".SH DESCRIPTION\n" + roff(program.help) + "\n";
  std::string door;
  for (const VerbFacts& verb : program.verbs) {
    if (verb.door != door) out += ".SH " + upper(roff(verb.door)) + "\n";
    door = verb.door;
    out += ".TP\n.BR runnel\\-" + roff(verb.name) + " (1)\n" + roff(verb.help) + ".\n";
    if (!verb.example.empty()) out += ".br\n" + italic(verb.example) + "\n";
  }
  out += ".SH OPTIONS\n";
  add_options(out, program);
  out += kConventions;
  out +=
      ".SH ENVIRONMENT\n"
      ".TP\n.B RUNNEL_MODEL_PATH\nFolders of models, separated by colons, before those of runnel.\n"
      ".TP\n.B RUNNEL_CONFIG\nThe settings file instead of the user's; empty: none.\n"
      ".TP\n.BI RUNNEL_ VERB _ OPTION\nDefault of an option, before that of the settings file.\n"
      ".TP\n.B RUNNEL_KEY\nKey of encrypted models, 32 hexadecimal digits.\n"
      ".TP\n.B RUNNEL_TRUST\nPublic key, or list or folder of keys, whose signatures of models are taken.\n"
      ".TP\n.B RUNNEL_TOKEN\nToken of served pages and streams.\n"
      ".SH FILES\n"
      ".TP\n.I ~/.config/runnel/config.toml\nDefaults of options; see\n.BR runnel\\-config (1).\n"
      ".TP\n.I ~/.local/share/runnel/models\nModels that\n.B runnel models get\nhas fetched.\n";
  return out;
}

}  // namespace

std::vector<ManPage> man_pages(const VerbFacts& program, const std::string& version,
                               const std::string& date) {
  std::vector<ManPage> pages = {{"runnel.1", program_page(program, version, date)}};
  for (const VerbFacts& verb : program.verbs)
    pages.push_back({"runnel-" + verb.name + ".1", verb_page(verb, version, date)});
  return pages;
}

}  // namespace runnel::apps
