// A Lua interpreter of one script: lua SCRIPT [ARGUMENTS...], which the script finds in `arg`.
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: lua SCRIPT [ARGUMENTS...]\n");
    return 2;
  }
  lua_State* state = luaL_newstate();
  if (!state) return 1;
  luaL_openlibs(state);
  lua_createtable(state, argc - 1, 0);
  for (int i = 1; i < argc; i++) {
    lua_pushstring(state, argv[i]);
    lua_rawseti(state, -2, i - 1);
  }
  lua_setglobal(state, "arg");
  int failed = luaL_dofile(state, argv[1]);
  if (failed) fprintf(stderr, "lua: %s\n", lua_tostring(state, -1));
  lua_close(state);
  return failed;
}
