# cpack: a .deb and a .tar.gz with the program, libkvrm.so and the headers. The static library stays out: it needs LLVM.
# make package calls it, and builds the wheel beside them.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_VENDOR "KVRM")
set(CPACK_PACKAGE_CONTACT "The KVRM developers <kvrm@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Exact ARM64 machine for CPU and GPU")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS
  ${PROJECT_BINARY_DIR} kvrm program / ${PROJECT_BINARY_DIR} kvrm shared /)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION otherosfs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
include(CPack)
