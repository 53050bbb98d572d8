# Many clients of one server.
if(TARGET runnel_program)
  add_executable(serve_load serve_load.cpp)
  target_link_libraries(serve_load PRIVATE runnel_flags runnel::pipeline_host fmt::fmt nlohmann_json::nlohmann_json PkgConfig::SNDFILE)
  add_dependencies(serve_load runnel_program runnel_models)
endif()
