# `cmake --install` and find_package(kvrm).
include(CMakePackageConfigHelpers)

install(TARGETS kvrm EXPORT kvrm-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/kvrm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT kvrm-targets NAMESPACE kvrm:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kvrm)
configure_package_config_file(cmake/kvrm-config.cmake.in ${PROJECT_BINARY_DIR}/kvrm-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kvrm)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kvrm-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kvrm-config.cmake ${PROJECT_BINARY_DIR}/kvrm-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kvrm)
if(KVRM_BUILD_CLI)
  install(TARGETS kvrm_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET kvrm_mpi)
    install(TARGETS kvrm_mpi LIBRARY DESTINATION lib/kvrm)
  endif()
endif()
