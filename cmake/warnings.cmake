# One set of warnings for every target of ours.
function(kvrm_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor)
  if(KVRM_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
