// As Arduino's reference describes it; only what a sketch needs.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

class SerialStandIn {
 public:
  void begin(unsigned long) {}
  void print(const char* text) { stand_in_printf("%s", text); }
  void print(long number) { stand_in_printf("%ld", number); }
  void println(const char* text) { stand_in_printf("%s\n", text); }
};
extern SerialStandIn Serial;
void setup();
void loop();
