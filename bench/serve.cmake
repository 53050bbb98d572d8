# Many clients of one server, and the steps of their streams alone.
if(TARGET runnel_program)
  add_executable(serve_load serve_load.cpp)
  target_link_libraries(serve_load PRIVATE runnel_flags runnel::serve fmt::fmt nlohmann_json::nlohmann_json PkgConfig::SNDFILE)
  add_dependencies(serve_load runnel_program runnel_models)
endif()
add_executable(serve_step serve_step.cpp)
target_link_libraries(serve_step PRIVATE runnel_flags runnel::serve runnel::compiler fmt::fmt nlohmann_json::nlohmann_json)
# A day of a fleet, with workers that die.
if(TARGET runnel_fleet)
  add_executable(fleet_simulation fleet_simulation.cpp fleet_day.cpp)
  target_link_libraries(fleet_simulation PRIVATE runnel_flags runnel::fleet)
endif()
