// A Lua interpreter with job.lua in it, so that no lane needs a file. The script reads the job's line itself.
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

// The Makefile says where the script is (SCRIPT).
__asm__(
    ".section .rodata\n.global script_begin, script_end\n"
    "script_begin:\n.incbin \"" SCRIPT "\"\nscript_end:\n.previous");
extern const char script_begin[], script_end[];

int main(void) {
  lua_State* state = luaL_newstate();
  if (!state) return 1;
  luaL_openlibs(state);
  int failed = luaL_loadbuffer(state, script_begin, (size_t)(script_end - script_begin), "job.lua") != LUA_OK ||
               lua_pcall(state, 0, 0, 0) != LUA_OK;
  if (failed) fprintf(stderr, "lua: %s\n", lua_tostring(state, -1));
  lua_close(state);
  return failed;
}
