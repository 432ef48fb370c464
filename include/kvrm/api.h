// What the shared library shows.
#pragma once

#define KVRM_API __attribute__((visibility("default")))
