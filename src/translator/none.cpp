// Stands in where the translator is not built.
#include "translator/translator.h"

namespace kvrm::translator {

std::shared_ptr<Translator> Translator::create(const Settings&, std::string& error) {
  error = std::string("this build has no translator: ") + KVRM_NO_TRANSLATOR;
  return nullptr;
}

}  // namespace kvrm::translator
