#include "machine/dispatch_options.h"

#include "neural/layouts.h"
#include "neural/network.h"

namespace kvrm {
namespace {

// The first weights had no description and used features that cannot decide every word.
bool is_old(const Weights& weights) {
  return weights.layout->name == neural::kDispatchEmbedding && weights.features == 1;
}

// A program that can write to the cache folder could verify any weights.
bool is_verified(const Options& options, const Weights& weights) {
  return weights.verified() && (options.code_cache || !weights.verification->from_cache);
}

Dispatch allowed(const Options& options, const Weights& weights, Result<void>& problem) {
  const Dispatch wanted = options.neural.dispatch;
  if (wanted != Dispatch::kNeural || is_verified(options, weights) || options.neural.unverified) return wanted;
  if (is_old(weights)) {
    if (options.notice) {
      options.notice(weights.source +
                     ": old weights (features version 1) cannot be right about every word; "
                     "running with dispatch=hybrid: the table decides, the predictions are recorded");
    }
    return Dispatch::kHybrid;
  }
  problem = Error{weights.source +
                  ": these weights have no passed verification on record, so the network may not "
                  "decide; verify them, or use dispatch=hybrid or unverified=true"};
  return wanted;
}

}  // namespace

Result<DispatchOptions> DispatchOptions::create(const Options& options) {
  DispatchOptions result;
  result.facts_.every = options.neural.every;
  if (options.neural.dispatch == Dispatch::kTable) return result;
  WeightsPointer weights = options.neural.weights;
  if (!weights) {
    auto own = built_in_weights(neural::kDispatchEmbedding);
    if (!own) return own.error();
    weights = *own;
  }
  result.network_ = neural::make_dispatch_network(*weights);
  if (!result.network_) return Error{weights->source + ": weights of " + weights->layout->name + ", not of dispatch"};
  Result<void> problem;
  result.facts_.mode = allowed(options, *weights, problem);
  if (!problem) return problem.error();
  result.mode_ = result.facts_.mode == Dispatch::kNeural ? dispatch::Mode::kNeural : dispatch::Mode::kHybrid;
  result.facts_.weights = weights->source + " (" + weights->layout->name + ", " + weights->checksum + ")";
  result.facts_.verified = is_verified(options, *weights);
  return result;
}

std::string DispatchOptions::decides() const { return mode_ == dispatch::Mode::kNeural ? facts_.weights : "table"; }

DispatchStatistics DispatchOptions::statistics(const dispatch::Counts& counts) const {
  DispatchStatistics result = facts_;
  for (u32 i = 0; i < dispatch::kClasses; ++i) {
    result.routed[i] = counts.routed[i];
    for (u32 j = 0; j < dispatch::kClasses; ++j) result.confusion[i][j] = counts.confusion[i][j];
  }
  return result;
}

const char* to_string(Dispatch dispatch) {
  switch (dispatch) {
    case Dispatch::kTable: return "table";
    case Dispatch::kNeural: return "neural";
    case Dispatch::kHybrid: return "hybrid";
  }
  return "unknown";
}

}  // namespace kvrm
