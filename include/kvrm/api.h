// Marks what the shared library exports.
#pragma once

#define KVRM_API __attribute__((visibility("default")))
