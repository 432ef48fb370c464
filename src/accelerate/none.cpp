// Replaces the extractor where the translator is not built.
#include "accelerate/extract.h"
#include "accelerate/native.h"

namespace kvrm::accelerate {

bool Extractor::is_there(std::string& error) {
  error = "this build has no translator";
  return false;
}

std::unique_ptr<Extractor> Extractor::create(std::string& error) {
  is_there(error);
  return nullptr;
}

std::unique_ptr<NativeCompiler> NativeCompiler::create(std::string& error) {
  Extractor::is_there(error);
  return nullptr;
}

}  // namespace kvrm::accelerate
