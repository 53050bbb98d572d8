/* As Zephyr's documentation describes it; one partition, where the emulator has put an image. */
#pragma once

#define FIXED_PARTITION_OFFSET(label) FIXED_PARTITION_OFFSET_##label
#define FIXED_PARTITION_SIZE(label) FIXED_PARTITION_SIZE_##label
#define FIXED_PARTITION_OFFSET_model_partition 0x300000
#define FIXED_PARTITION_SIZE_model_partition 0x70000
#define CONFIG_FLASH_BASE_ADDRESS 0
