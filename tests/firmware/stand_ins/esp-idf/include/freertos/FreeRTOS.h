#pragma once
#define portMAX_DELAY 0xffffffffu
