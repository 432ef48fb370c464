# libkvrm.so beside libkvrm.a: LLVM is inside and hidden, so that its users need no LLVM and stay small.
add_library(kvrm_shared SHARED $<TARGET_OBJECTS:kvrm>)
target_include_directories(kvrm_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(kvrm_shared INTERFACE cxx_std_20)
# The archive, for its other objects and for what it needs itself.
target_link_libraries(kvrm_shared PRIVATE kvrm)
# Only what include/kvrm marks is visible; the map hides the rest.
set(map ${CMAKE_CURRENT_LIST_DIR}/shared.map)
target_link_options(kvrm_shared PRIVATE "LINKER:--version-script=${map}" LINKER:--gc-sections)
set_target_properties(kvrm_shared PROPERTIES OUTPUT_NAME kvrm LINK_DEPENDS ${map} LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
