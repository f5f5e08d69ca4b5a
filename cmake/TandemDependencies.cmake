# What the library itself needs. Public headers depend on none of it.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_path(TANDEM_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
find_program(TANDEM_FLATC flatc REQUIRED)
find_path(TANDEM_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-serial openblas x86_64-linux-gnu/openblas-serial REQUIRED)
find_library(TANDEM_OPENBLAS openblas
             HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial REQUIRED)

add_library(tandem_flatbuffers INTERFACE)
target_include_directories(tandem_flatbuffers SYSTEM INTERFACE ${TANDEM_FLATBUFFERS_INCLUDE})
add_library(tandem_blas INTERFACE)
target_include_directories(tandem_blas SYSTEM INTERFACE ${TANDEM_CBLAS_INCLUDE})
target_link_libraries(tandem_blas INTERFACE ${TANDEM_OPENBLAS})

set(TANDEM_PRIVATE_LIBRARIES fmt::fmt-header-only nlohmann_json::nlohmann_json tandem_flatbuffers tandem_blas OpenSSL::Crypto ${CMAKE_DL_LIBS})
