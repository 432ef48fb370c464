# Precompiled headers take a quarter of a build's time away. ccache would have to be told about them, so a build with a
# launcher goes without; so do the presets for development, which find a file that lacks an include.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(precompile OFF)
else()
  set(precompile ON)
endif()
option(KVRM_PRECOMPILE "Precompile headers of other projects" ${precompile})

# kvrm_precompile(target header...): headers that many files of the target include.
function(kvrm_precompile target)
  if(KVRM_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

set(KVRM_STANDARD_HEADERS <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <filesystem> <functional> <map>
  <memory> <mutex> <optional> <span> <string> <thread> <utility> <vector>)
