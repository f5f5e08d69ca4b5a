# `find_package(tandem)` from an install tree.
include(CMakePackageConfigHelpers)
install(TARGETS tandem EXPORT tandem-targets FILE_SET HEADERS)
install(EXPORT tandem-targets NAMESPACE tandem:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tandem-config.cmake.in
                              ${CMAKE_CURRENT_BINARY_DIR}/tandem-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tandem-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tandem-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tandem-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
