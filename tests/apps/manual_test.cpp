// Man pages and completions: made by the build, checked by the programs that read them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

fs::path manual() { return RUNNEL_MANUAL; }

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Names of all verbs, from the overview.
std::vector<std::string> verbs() {
  std::vector<std::string> names;
  std::istringstream lines(call_well({"--help"}).out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ") && line[2] != ' ') names.push_back(words_of(line)[0]);
  }
  return names;
}

bool has_program(const char* name) {
  return runnel::test::run_program({"/bin/sh", "-c", std::string("command -v ") + name}).exit_code == 0;
}

#define NEEDS_PROGRAM(name) \
  if (!has_program(name)) GTEST_SKIP() << "SKIPPED WITHOUT " name ": install its Debian package to run it"

// The long names of the options in a help: words at the beginnings of its lines, "  -o,--output TEXT".
std::set<std::string> options_in(const std::string& help) {
  std::set<std::string> options;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    std::istringstream names(words_of(line)[0]);
    for (std::string name; std::getline(names, name, ',');) {
      if (name.starts_with("--")) options.insert(name);
    }
  }
  return options;
}

TEST(Manual, EveryVerbHasAPageWithEveryOptionOfItsHelp) {
  const std::vector<std::string> all = verbs();
  EXPECT_GE(all.size(), 20U);
  EXPECT_EQ(names_in(manual() / "man").size(), all.size() + 1);
  for (const std::string& verb : all) {
    std::string page = read_text(manual() / "man" / ("runnel-" + verb + ".1"));
    EXPECT_THAT(read_text(manual() / "man" / "runnel.1"), HasSubstr("runnel\\-" + verb));
    for (std::size_t at = page.find("\\-"); at != std::string::npos; at = page.find("\\-")) page.erase(at, 1);
    for (const std::string& option : options_in(call_well({verb, "--help"}).out))
      EXPECT_THAT(page, HasSubstr(option)) << verb;
    EXPECT_THAT(page, HasSubstr(".SH EXAMPLE")) << verb;
  }
}

TEST(Manual, MandocFindsNothingWrong) {
  NEEDS_PROGRAM("mandoc");
  for (const std::string& name : names_in(manual() / "man")) {
    const Output lint =
        runnel::test::run_program({"mandoc", "-T", "lint", "-W", "warning", manual() / "man" / name});
    EXPECT_EQ(lint.out + lint.err, "") << name;
    EXPECT_EQ(lint.exit_code, 0) << name;
  }
}

TEST(Manual, ManShowsAPage) {
  NEEDS_PROGRAM("man");
  const Output page =
      runnel::test::run_program({"/bin/sh", "-c",
                                 "MANWIDTH=100 MAN_KEEP_FORMATTING= man -l '" +
                                     (manual() / "man/runnel-listen.1").string() + "' | cat"});
  if (page.out.find("OPTIONS") == std::string::npos)
    GTEST_SKIP() << "SKIPPED: man of this machine shows no pages: " << page.err.substr(0, 200);
  EXPECT_THAT(page.out, HasSubstr("--wav"));
  EXPECT_THAT(page.out, HasSubstr("runnel listen digits --wav a.wav"));
}

// What bash would offer after these words, the last of which is being written.
std::vector<std::string> bash_offers(const std::vector<std::string>& words) {
  std::string script = "source '" + (manual() / "runnel.bash").string() + "'; COMP_WORDS=(";
  for (const std::string& word : words) script += " '" + word + "'";
  script +=
      "); COMP_CWORD=" + std::to_string(words.size() - 1) + "; _runnel; printf '%s\\n' \"${COMPREPLY[@]}\"";
  const Output output = runnel::test::run_program({"bash", "--norc", "-c", script});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_EQ(output.err, "");
  return words_of(output.out);
}

TEST(Completion, BashOffersVerbsOptionsValuesAndModels) {
  NEEDS_PROGRAM("bash");
  const std::string program = runnel::test::program();
  EXPECT_THAT(bash_offers({program, "lis"}), testing::ElementsAre("listen"));
  EXPECT_THAT(bash_offers({program, ""}), testing::IsSupersetOf(verbs()));
  EXPECT_THAT(bash_offers({program, "listen", "--wa"}), testing::ElementsAre("--wav"));
  EXPECT_THAT(bash_offers({program, "listen", "--on-gap", ""}), testing::ElementsAre("reset", "zeros"));
  EXPECT_THAT(bash_offers({program, "listen", "dig"}), Contains("digits"));
  EXPECT_THAT(bash_offers({program, "models", "g"}), Contains("get"));
  EXPECT_THAT(bash_offers({program, "models", "get", "--ag"}), testing::ElementsAre("--again"));
  EXPECT_THAT(bash_offers({program, "npu", "compile", "--syst"}), Contains("--system"));
  EXPECT_THAT(bash_offers({program, "listen", "--sys"}), testing::IsEmpty());
}

TEST(Completion, BashOffersEveryOptionOfTheHelp) {
  NEEDS_PROGRAM("bash");
  for (const std::string& verb : verbs()) {
    const std::vector<std::string> offered = bash_offers({"runnel", verb, "--"});
    for (const std::string& option : options_in(call_well({verb, "--help"}).out))
      EXPECT_THAT(offered, Contains(option)) << verb;
  }
}

TEST(Completion, FishOffersVerbsOptionsAndValues) {
  NEEDS_PROGRAM("fish");
  const auto offers = [](const std::string& line) {
    const Output output = runnel::test::run_program(
        {"fish", "--no-config", "-c",
         "set -x PATH '" + fs::path(runnel::test::program()).parent_path().string() + "' $PATH; source '" +
             (manual() / "runnel.fish").string() + "'; complete -C '" + line + "'"});
    EXPECT_EQ(output.exit_code, 0) << output.err;
    EXPECT_EQ(output.err, "");
    return output.out;
  };
  EXPECT_THAT(offers("runnel lis"), HasSubstr("listen\tListen with a model"));
  EXPECT_THAT(offers("runnel listen --wa"), HasSubstr("--wav\t"));
  EXPECT_THAT(offers("runnel listen --on-gap "), HasSubstr("zeros"));
  EXPECT_THAT(offers("runnel models g"), HasSubstr("get\t"));
  EXPECT_THAT(offers("runnel models get --ag"), HasSubstr("--again\t"));
  EXPECT_THAT(offers("runnel bench --wa"), Not(HasSubstr("--wav")));
}

// zsh completes only in a terminal of its own; its parser and its list of commands need none.
TEST(Completion, ZshKnowsTheCommand) {
  NEEDS_PROGRAM("zsh");
  const Output parsed = runnel::test::run_program({"zsh", "-f", "-n", manual() / "_runnel"});
  EXPECT_EQ(parsed.exit_code, 0) << parsed.err;
  EXPECT_EQ(parsed.err, "");
  const runnel::test::TemporaryFolder folder;
  const Output known = runnel::test::run_program(
      {"zsh", "-f", "-c",
       "fpath=('" + manual().string() + "' $fpath); autoload -Uz compinit; compinit -u -d '" +
           (folder.path() / "dump").string() +
           "'; print $_comps[runnel]; autoload +X _runnel && print loaded"});
  EXPECT_EQ(known.out, "_runnel\nloaded\n") << known.err;
  const std::string text = read_text(manual() / "_runnel");
  for (const std::string& verb : verbs()) EXPECT_THAT(text, HasSubstr("_runnel_" + verb + "()"));
}

}  // namespace
}  // namespace runnel::apps::test
