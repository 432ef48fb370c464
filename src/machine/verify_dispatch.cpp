// The proof that a dispatch network is right about every word.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <ctime>
#include <mutex>
#include <thread>

#include "backend/cpu/thread_pool.h"
#include "backend/cuda/verify_dispatch.h"
#include "dispatch/verify.h"
#include "kvrm/models.h"
#include "neural/network.h"

namespace kvrm {
namespace {

constexpr u64 kWords = u64{1} << 32;
constexpr u64 kInputs = u64{1} << (8 + neural::kFeatures);

// One of the words that a network sees as input `number`.
u32 word_of_input(u64 number) {
  u32 word = static_cast<u32>(number >> neural::kFeatures) << 24;
  for (u32 i = 0; i < neural::kFeatures; ++i) word |= static_cast<u32>(number >> i & 1) << neural::kFeatureBits[i];
  return word;
}

// How far the float logits of a word are from those in double precision.
double rounding_at(const neural::DispatchNetwork& network, u32 word) {
  float machine[8];
  double exact[8];
  neural::dispatch_logits(machine, network, word, 0);
  neural::dispatch_logits(exact, network, word, 0);
  double most = 0;
  for (u32 i = 0; i < neural::kClasses; ++i)
    most = std::max(most, std::abs(static_cast<double>(machine[i]) - exact[i]));
  return most;
}

class CpuCheck {
 public:
  CpuCheck(const neural::DispatchNetwork& network, const VerifyOptions& options)
      : network_(network),
        options_(options),
        pool_(options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency())) {}

  dispatch::Tally every_input() {
    each_part(kInputs,
              [&](u64 number, dispatch::Checker& checker) { checker.check(word_of_input(number), kWords / kInputs); });
    return tally_;
  }
  dispatch::Tally every_word() {
    each_part(kWords, [&](u64 word, dispatch::Checker& checker) { checker.check(static_cast<u32>(word), 1); });
    return tally_;
  }
  double rounding() {
    std::atomic<double> most = 0;
    pool_.each(kInputs / kPart, [&](u64 part) {
      double here = 0;
      for (u64 i = part * kPart; i < (part + 1) * kPart; ++i) {
        here = std::max(here, rounding_at(network_, word_of_input(i)));
      }
      for (double seen = most; here > seen && !most.compare_exchange_weak(seen, here);) {
      }
    });
    return most;
  }

 private:
  static constexpr u64 kPart = 1 << 14;

  template <class Ask>
  void each_part(u64 count, const Ask& ask) {
    std::mutex mutex;
    u64 done = 0;
    pool_.each(count / kPart, [&](u64 part) {
      dispatch::Checker checker(network_, tally_);
      for (u64 i = part * kPart; i < (part + 1) * kPart; ++i) ask(i, checker);
      checker.finish();
      const std::lock_guard lock(mutex);
      done += kPart;
      if (options_.progress) options_.progress(static_cast<double>(done) / static_cast<double>(count));
    });
  }

  const neural::DispatchNetwork& network_;
  const VerifyOptions& options_;
  backend::cpu::ThreadPool pool_;
  dispatch::Tally tally_ = dispatch::kNothing;
};

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
  return text.data();
}

DispatchReport report_of(const dispatch::Tally& tally) {
  DispatchReport report;
  Verification& summary = report.verification;
  for (u32 i = 0; i < dispatch::kClasses; ++i) {
    for (u32 j = 0; j < dispatch::kClasses; ++j) {
      report.confusion[i][j] = tally.confusion[i][j];
      summary.words += tally.confusion[i][j];
      if (i != j) summary.errors += tally.confusion[i][j];
    }
  }
  report.example = tally.example;
  summary.margin = static_cast<double>(std::bit_cast<float>(tally.margin));
  summary.date = today();
  return report;
}

}  // namespace

Result<DispatchReport> verify_dispatch(const Weights& weights, const VerifyOptions& options) {
  const auto network = neural::make_dispatch_network(weights);
  if (!network) return Error{weights.source + ": weights of " + weights.layout->name + ", not of dispatch"};
  if (network->form == neural::DispatchForm::kEmbeddingV1) {
    return Error{weights.source + ": features version 1 blur the bits that decide, and see pc: nothing to verify"};
  }
  const auto begin = std::chrono::steady_clock::now();
  CpuCheck check(*network, options);
  DispatchReport report;
  if (options.device == Device::kCuda) {
    auto tally = backend::cuda::verify_dispatch(static_cast<int>(options.device_ordinal), *network, options.progress);
    if (!tally) return tally.error();
    report = report_of(*tally);
    report.inputs = kWords;
    report.verification.device = "cuda";
    report.verification.method = "every word";
  } else {
    report = report_of(options.exhaustive ? check.every_word() : check.every_input());
    report.inputs = options.exhaustive ? kWords : kInputs;
    report.verification.device = "cpu";
    report.verification.method =
        options.exhaustive ? "every word" : "every distinct input, each standing for 2^12 words";
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  report.rounding = check.rounding();
  report.verification.checksum = weights.checksum;
  return report;
}

}  // namespace kvrm
