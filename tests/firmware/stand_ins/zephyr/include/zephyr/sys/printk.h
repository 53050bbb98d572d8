#pragma once
#include "stand_in.h"
#define printk stand_in_printf
