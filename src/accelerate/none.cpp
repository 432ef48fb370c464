// Replaces the extractor where the translator is not built.
#include "accelerate/extract.h"

namespace kvrm::accelerate {

std::unique_ptr<Extractor> Extractor::create(std::string& error) {
  error = "this build has no translator";
  return nullptr;
}

}  // namespace kvrm::accelerate
