# cmake -DBUILD=... -DCONFIG=... -DCONSUMER=... -DWORK=... -DFIXTURE=... -DCOMPILER=... -DGENERATOR=... -P package_test.cmake

# Runs a command; its standard output is in `output`.
function(run_step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run_step("installing" ${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --prefix ${WORK}/prefix)
# Moved, so that a path of the build or of the first prefix left in the package shows.
file(RENAME ${WORK}/prefix ${WORK}/moved)
run_step("configuring the consumer"
         ${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/moved
                          -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release
                          -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run_step("building the consumer" ${CMAKE_COMMAND} --build ${WORK}/build)
run_step("running the consumer" ${WORK}/build/consumer ${FIXTURE}/program.pte ${FIXTURE}/aoti_cpu_blob.ptd)
if(NOT output STREQUAL "1.5 + 2 * 3 = 7.5\n")
  message(FATAL_ERROR "the consumer printed:\n${output}")
endif()

file(GLOB internal RELATIVE ${WORK}/moved ${WORK}/moved/include/*)
if(NOT internal STREQUAL "include/tandem")
  message(FATAL_ERROR "installed beside include/tandem: ${internal}")
endif()
