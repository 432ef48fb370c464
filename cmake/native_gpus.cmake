# kvrm_resolve_cubins(list variable): `native` in the list becomes the compute capabilities of this machine's GPUs.
function(kvrm_resolve_cubins list variable)
  set(found "")
  if("native" IN_LIST list)
    execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/native_gpus.py
      OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(REMOVE_ITEM list native)
    list(APPEND list ${found})
    list(REMOVE_DUPLICATES list)
  endif()
  set(${variable} "${list}" PARENT_SCOPE)
endfunction()
