// Replaces the translator where it is not built.
#include "translator/bitcode.h"
#include "translator/gpu/translator.h"
#include "translator/translator.h"

namespace kvrm::translator {

std::shared_ptr<Translator> Translator::create(const Settings&, std::string& error) {
  error = std::string("this build has no translator: ") + KVRM_NO_TRANSLATOR;
  return nullptr;
}

bool GpuTranslator::is_there(std::string& error) {
  error = std::string("this build has no translator: ") + KVRM_NO_TRANSLATOR;
  return false;
}

std::unique_ptr<GpuTranslator> GpuTranslator::create(const GpuLimits&) { return nullptr; }

std::string_view rows_version() { return {}; }

}  // namespace kvrm::translator
