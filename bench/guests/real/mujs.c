// A JavaScript interpreter of one script: mujs SCRIPT [ARGUMENTS...], which the script finds in `scriptArgs`.
#include <mujs.h>
#include <stdio.h>

static void print(js_State* state) {
  int count = js_gettop(state);
  for (int i = 1; i < count; i++) printf("%s%s", i > 1 ? " " : "", js_tostring(state, i));
  putchar('\n');
  js_pushundefined(state);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: mujs SCRIPT [ARGUMENTS...]\n");
    return 2;
  }
  js_State* state = js_newstate(NULL, NULL, JS_STRICT);
  if (!state) return 1;
  js_newcfunction(state, print, "print", 0);
  js_setglobal(state, "print");
  js_newarray(state);
  for (int i = 2; i < argc; i++) {
    js_pushstring(state, argv[i]);
    js_setindex(state, -2, i - 2);
  }
  js_setglobal(state, "scriptArgs");
  int failed = js_dofile(state, argv[1]);
  js_freestate(state);
  return failed;
}
