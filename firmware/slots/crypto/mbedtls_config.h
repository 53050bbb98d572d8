/* What mbedTLS is built with for boards: AES-128-GCM alone, its tables in flash, and memory from a place of
 * our own. */
#pragma once

#include <stddef.h>

#define MBEDTLS_AES_C
#define MBEDTLS_AES_ROM_TABLES
#define MBEDTLS_AES_FEWER_TABLES
#define MBEDTLS_CIPHER_C
#define MBEDTLS_GCM_C
#define MBEDTLS_PLATFORM_C
#define MBEDTLS_PLATFORM_MEMORY
#define MBEDTLS_PLATFORM_CALLOC_MACRO runnel_cipher_memory
#define MBEDTLS_PLATFORM_FREE_MACRO runnel_cipher_memory_ends

#ifdef __cplusplus
extern "C" {
#endif
void* runnel_cipher_memory(size_t count, size_t bytes);
void runnel_cipher_memory_ends(void* memory);
#ifdef __cplusplus
}
#endif

#include "mbedtls/check_config.h"
