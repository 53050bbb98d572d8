find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(FFTW3F QUIET IMPORTED_TARGET fftw3f)
endif()
# The yardstick is FFTW: without it there is nothing to compare with.
if(FFTW3F_FOUND)
  runnel_bench(features_bench SOURCES features_bench.cpp DEPENDS runnel::features runnel::base_host PkgConfig::FFTW3F fmt::fmt)
endif()
