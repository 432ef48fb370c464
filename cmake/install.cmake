# `cmake --install` and find_package(kvrm). Components: program, shared (with the headers), static; python has its own.
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/kvrm)
set_target_properties(kvrm PROPERTIES EXPORT_NAME kvrm_static)
install(TARGETS kvrm EXPORT kvrm-static-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT static)
install(EXPORT kvrm-static-targets NAMESPACE kvrm:: DESTINATION ${package} COMPONENT static)
if(TARGET kvrm_shared)
  install(TARGETS kvrm_shared EXPORT kvrm-shared-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT shared NAMELINK_COMPONENT shared)
  install(EXPORT kvrm-shared-targets NAMESPACE kvrm:: DESTINATION ${package} COMPONENT shared)
endif()
install(DIRECTORY include/kvrm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT shared)
configure_package_config_file(cmake/kvrm-config.cmake.in ${PROJECT_BINARY_DIR}/kvrm-config.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/kvrm-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/kvrm-config.cmake ${PROJECT_BINARY_DIR}/kvrm-config-version.cmake
  DESTINATION ${package} COMPONENT shared)
if(KVRM_BUILD_CLI)
  install(TARGETS kvrm_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
  if(TARGET kvrm_mpi)
    install(TARGETS kvrm_mpi LIBRARY DESTINATION lib/kvrm COMPONENT program)
  endif()
endif()
