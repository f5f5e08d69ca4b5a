# tandem_add_custom_library(<name> SOURCE <file> [DEFINITIONS ...]): a library that CustomBackend loads, as
# custom_libraries/<name>.so in the build folder of the project. It needs nothing of Tandem but tandem/custom.h, and is
# not instrumented, as users' are not.
set(TANDEM_CUSTOM_LIBRARIES ${PROJECT_BINARY_DIR}/custom_libraries)
function(tandem_add_custom_library name)
  cmake_parse_arguments(ARG "" "SOURCE" "DEFINITIONS" ${ARGN})
  add_library(custom_${name} MODULE ${ARG_SOURCE})
  set_target_properties(custom_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
                        LIBRARY_OUTPUT_DIRECTORY ${TANDEM_CUSTOM_LIBRARIES})
  target_include_directories(custom_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(custom_${name} PRIVATE ${ARG_DEFINITIONS})
endfunction()
