if(TARGET runnel_pipeline_host)
  runnel_bench(inference_bench SOURCES
      digits_graph.cpp
      inference_bench.cpp
      memory_source.cpp
      networks.cpp
      stack_kernels.cpp
               DEPENDS runnel::compiler runnel::pipeline_host runnel::inference_host runnel::base_host fmt::fmt nlohmann_json::nlohmann_json)
  if(RUNNEL_HAVE_XNNPACK)
    target_sources(inference_bench PRIVATE xnnpack_networks.cpp)
    target_compile_definitions(inference_bench PRIVATE RUNNEL_BENCH_XNNPACK)
    target_link_libraries(inference_bench PRIVATE XNNPACK::XNNPACK)
  endif()
  # The header of ONNX Runtime's C interface; the library itself is loaded at run time (RUNNEL_BENCH_ORT).
  find_path(RUNNEL_ONNXRUNTIME_HEADERS onnxruntime_c_api.h PATH_SUFFIXES onnxruntime)
  if(RUNNEL_ONNXRUNTIME_HEADERS)
    target_sources(inference_bench PRIVATE onnxruntime_session.cpp)
    target_compile_definitions(inference_bench PRIVATE RUNNEL_BENCH_ONNXRUNTIME)
    target_include_directories(inference_bench SYSTEM PRIVATE ${RUNNEL_ONNXRUNTIME_HEADERS})
    target_link_libraries(inference_bench PRIVATE ${CMAKE_DL_LIBS})
    runnel_bench(float_bench SOURCES float_bench.cpp onnxruntime_session.cpp
                 DEPENDS runnel::compiler runnel::inference_host runnel::base_host fmt::fmt nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
    target_include_directories(float_bench SYSTEM PRIVATE ${RUNNEL_ONNXRUNTIME_HEADERS})
  endif()
  # Steps for QEMU's plugin that counts instructions (scripts/speed_arm.sh). The plugin finds its functions by the addresses of the file.
  add_executable(instruction_counts instruction_counts.cpp networks.cpp)
  target_link_libraries(instruction_counts PRIVATE runnel_flags runnel::compiler runnel::features runnel::inference_host runnel::base_host)
  target_link_options(instruction_counts PRIVATE -no-pie)
  # The same without networks, which is built in a fraction of the time (scripts/speed_riscv.sh).
  add_executable(kernel_counts instruction_counts.cpp)
  target_compile_definitions(kernel_counts PRIVATE RUNNEL_KERNEL_COUNTS)
  target_link_libraries(kernel_counts PRIVATE runnel_flags runnel::features runnel::kernels runnel::base_host)
  target_link_options(kernel_counts PRIVATE -no-pie)
  if(RUNNEL_HAVE_XNNPACK)
    target_sources(instruction_counts PRIVATE xnnpack_networks.cpp)
    target_compile_definitions(instruction_counts PRIVATE RUNNEL_BENCH_XNNPACK)
    target_link_libraries(instruction_counts PRIVATE XNNPACK::XNNPACK)
  endif()
  if(TARGET kaldi_native_fbank)
    target_sources(instruction_counts PRIVATE kaldi_fbank.cpp)
    target_compile_definitions(instruction_counts PRIVATE RUNNEL_BENCH_KALDI)
    target_link_libraries(instruction_counts PRIVATE kaldi_native_fbank)
  endif()
  runnel_bench(models_bench SOURCES models_bench.cpp models_page.cpp
               DEPENDS runnel::compiler runnel::inference_host runnel::base_host fmt::fmt nlohmann_json::nlohmann_json)
  if(RUNNEL_ONNXRUNTIME_HEADERS)
    target_sources(models_bench PRIVATE onnxruntime_session.cpp)
    target_compile_definitions(models_bench PRIVATE RUNNEL_BENCH_ONNXRUNTIME)
    target_include_directories(models_bench SYSTEM PRIVATE ${RUNNEL_ONNXRUNTIME_HEADERS})
    target_link_libraries(models_bench PRIVATE ${CMAKE_DL_LIBS})
  endif()
  runnel_bench(threads_bench SOURCES memory_source.cpp networks.cpp threaded_graphs.cpp threads_bench.cpp
               DEPENDS runnel::compiler runnel::pipeline_host runnel::inference_host runnel::base_host fmt::fmt nlohmann_json::nlohmann_json)
  # Runs the program as users do.
  runnel_bench(batch_bench SOURCES batch_bench.cpp digits_graph.cpp memory_source.cpp DEPENDS runnel::compiler runnel::batch runnel::inference_host runnel::base_host fmt::fmt)
  add_executable(speed_table speed_table.cpp)
  target_link_libraries(speed_table PRIVATE runnel_flags fmt::fmt nlohmann_json::nlohmann_json)
endif()
