# ESP-IDF reads the CMakeLists.txt of each component twice; first as a script, which ends at the registration.
macro(idf_component_register)
  set(registered TRUE)
  return()
endmacro()
function(read)
  include(${COMPONENT}/CMakeLists.txt)
endfunction()
read()
