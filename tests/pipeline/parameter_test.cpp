#include "pipeline/parameter.h"

#include <gtest/gtest.h>

#include "base/host/heap_memory.h"
#include "pipeline/host/registry.h"
#include "tests/pipeline/support.h"

namespace runnel::pipeline::test {
namespace {

Parameter number(ParameterType type, std::string_view unit, double low, double high) {
  Parameter parameter;
  parameter.name = "p";
  parameter.type = type;
  parameter.unit = unit;
  parameter.low = low;
  parameter.high = high;
  return parameter;
}

TEST(Parameter, ReadsNumbersWithUnits) {
  const Parameter hop = number(ParameterType::real, "s", 0, 10);
  EXPECT_EQ(parse_value(hop, "0.25")->real, 0.25);
  EXPECT_EQ(parse_value(hop, "10ms")->real, 0.01);
  EXPECT_EQ(parse_value(hop, "2s")->real, 2);
  EXPECT_EQ(parse_value(hop, "1e-3")->real, 0.001);
  EXPECT_FALSE(parse_value(hop, "2Hz").ok());
  const Parameter rate = number(ParameterType::integer, "Hz", 1, 768000);
  EXPECT_EQ(parse_value(rate, "16kHz")->integer, 16000);
  EXPECT_EQ(parse_value(rate, "44.1kHz")->integer, 44100);
  EXPECT_FALSE(parse_value(rate, "0.5").ok());
}

TEST(Parameter, NamesValueAndRangeOfWhatItRefuses) {
  const Parameter rate = number(ParameterType::integer, "Hz", 1, 768000);
  for (const char* text : {"0", "768001", "abc", "", "1x", "nan", "inf", "1e300", "16000 "}) {
    const Result<Value> value = parse_value(rate, text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.status().text(),
              "p=" + std::string(text) + ": expected a whole number from 1 to 768000 Hz");
  }
  const Parameter share = number(ParameterType::real, "", 0, 1);
  EXPECT_EQ(parse_value(share, "1.5").status().text(), "p=1.5: expected a number from 0 to 1");
}

TEST(Parameter, ReadsBooleansAndChoices) {
  const Parameter flag = number(ParameterType::boolean, "", 0, 1);
  for (const char* text : {"true", "yes", "on", "1"}) EXPECT_TRUE(parse_value(flag, text)->boolean) << text;
  for (const char* text : {"false", "no", "off", "0"}) EXPECT_FALSE(parse_value(flag, text)->boolean) << text;
  EXPECT_EQ(parse_value(flag, "maybe").status().text(), "p=maybe: expected true or false");
  Parameter choice;
  choice.name = "mode";
  choice.choices = "stream|clip";
  EXPECT_EQ(parse_value(choice, "clip")->text, "clip");
  EXPECT_EQ(parse_value(choice, "str").status().text(), "mode=str: expected one of stream, clip");
  EXPECT_FALSE(parse_value(choice, "stream|clip").ok());
}

// What the help prints as default can be written into a graph, and gives the same value again.
TEST(Parameter, DefaultsOfAllNodesAreAllowed) {
  for (const NodeType* type : host_nodes()) {
    HeapMemory memory;
    Node* node = type->make(memory);
    for (const Parameter& parameter : type->parameters) {
      SCOPED_TRACE(std::string(type->name) + "." + std::string(parameter.name));
      EXPECT_FALSE(parameter.help.empty());
      if (parameter.required) continue;
      const std::string text(describe_value(parameter.get(parameter, *node)).view());
      const Result<Value> value = parse_value(parameter, text);
      ASSERT_TRUE(value.ok()) << value.status().text();
      EXPECT_TRUE(parameter.set(parameter, *node, *value).ok());
      EXPECT_EQ(describe_value(parameter.get(parameter, *node)).view(), text);
    }
    node->~Node();
  }
}

}  // namespace
}  // namespace runnel::pipeline::test
