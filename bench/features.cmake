find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(FFTW3F QUIET IMPORTED_TARGET fftw3f)
endif()
# The yardstick is FFTW: without it there is nothing to compare with.
if(FFTW3F_FOUND)
  runnel_bench(features_bench SOURCES features_bench.cpp DEPENDS runnel::features runnel::base_host PkgConfig::FFTW3F fmt::fmt)
  # The source folder of kaldi-native-fbank, which no distribution has. It needs KISS FFT.
  set(RUNNEL_KALDI_NATIVE_FBANK "" CACHE PATH "sources of kaldi-native-fbank, which features_bench then compares with")
  if(RUNNEL_KALDI_NATIVE_FBANK)
    pkg_check_modules(KISSFFT REQUIRED IMPORTED_TARGET kissfft-float)
    set(csrc ${RUNNEL_KALDI_NATIVE_FBANK}/kaldi-native-fbank/csrc)
    add_library(kaldi_native_fbank STATIC ${csrc}/feature-fbank.cc ${csrc}/feature-functions.cc ${csrc}/feature-mfcc.cc
                ${csrc}/feature-window.cc ${csrc}/kaldi-math.cc ${csrc}/mel-computations.cc ${csrc}/online-feature.cc
                ${csrc}/rfft.cc ${csrc}/whisper-feature.cc)
    target_include_directories(kaldi_native_fbank SYSTEM PUBLIC ${RUNNEL_KALDI_NATIVE_FBANK})
    target_compile_options(kaldi_native_fbank PRIVATE -w -O3)
    target_link_libraries(kaldi_native_fbank PUBLIC PkgConfig::KISSFFT)
    target_sources(features_bench PRIVATE kaldi_fbank.cpp)
    target_compile_definitions(features_bench PRIVATE RUNNEL_BENCH_KALDI)
    target_link_libraries(features_bench PRIVATE kaldi_native_fbank)
  endif()
endif()
