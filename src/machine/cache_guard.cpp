#include "machine/cache_guard.h"

#include "kvrm/cache.h"

namespace kvrm {

bool CacheGuard::allows(const linux_abi::ProcessOptions& options) {
  const std::lock_guard lock(mutex_);
  const std::string root = options.root.value_or("");
  if (!is_used_ || checked_ == root) return is_used_;
  checked_ = root;
  const std::string problem = code_cache_problem(root);
  is_used_ = problem.empty();
  if (!is_used_ && options.verbose && notice_) notice_("the code cache is off: " + problem);
  return is_used_;
}

}  // namespace kvrm
