# mbedTLS' cryptography: sets MbedTLS_FOUND and the target MbedTLS::mbedcrypto. Debian's package has neither a CMake nor a
# pkg-config file.
find_path(MbedTLS_INCLUDE_DIR mbedtls/gcm.h)
find_library(MbedTLS_CRYPTO_LIBRARY mbedcrypto)
mark_as_advanced(MbedTLS_INCLUDE_DIR MbedTLS_CRYPTO_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MbedTLS REQUIRED_VARS MbedTLS_CRYPTO_LIBRARY MbedTLS_INCLUDE_DIR)

if(MbedTLS_FOUND AND NOT TARGET MbedTLS::mbedcrypto)
  add_library(MbedTLS::mbedcrypto UNKNOWN IMPORTED)
  set_target_properties(MbedTLS::mbedcrypto PROPERTIES IMPORTED_LOCATION ${MbedTLS_CRYPTO_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${MbedTLS_INCLUDE_DIR})
endif()
