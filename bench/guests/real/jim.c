// A Tcl interpreter (Jim) of one script: jim SCRIPT [ARGUMENTS...], which the script finds in `argv`.
#include <jim.h>
#include <stdio.h>

int Jim_regexpInit(Jim_Interp* interpreter);  // In libjim.a, not in its header: extensions are linked by name.
int Jim_arrayInit(Jim_Interp* interpreter);
int Jim_stdlibInit(Jim_Interp* interpreter);

static int put(Jim_Interp* interpreter, int argc, Jim_Obj* const* argv) {
  if (argc != 2) {
    Jim_WrongNumArgs(interpreter, 1, argv, "string");
    return JIM_ERR;
  }
  puts(Jim_String(argv[1]));
  return JIM_OK;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: jim SCRIPT [ARGUMENTS...]\n");
    return 2;
  }
  Jim_Interp* interpreter = Jim_CreateInterp();
  Jim_RegisterCoreCommands(interpreter);
  Jim_regexpInit(interpreter);
  Jim_arrayInit(interpreter);
  Jim_stdlibInit(interpreter);
  Jim_CreateCommand(interpreter, "puts", put, NULL, NULL);
  Jim_Obj* arguments = Jim_NewListObj(interpreter, NULL, 0);
  for (int i = 2; i < argc; i++)
    Jim_ListAppendElement(interpreter, arguments, Jim_NewStringObj(interpreter, argv[i], -1));
  Jim_SetVariableStr(interpreter, "argv", arguments);
  int failed = Jim_EvalFile(interpreter, argv[1]) == JIM_ERR;
  if (failed) {
    Jim_MakeErrorMessage(interpreter);
    fprintf(stderr, "jim: %s\n", Jim_String(Jim_GetResult(interpreter)));
  }
  Jim_FreeInterp(interpreter);
  return failed;
}
