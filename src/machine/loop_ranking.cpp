#include "machine/loop_ranking.h"

#include <string>
#include <utility>

#include "kvrm/loops.h"
#include "neural/built_in.h"
#include "neural/layouts.h"
#include "neural/loop_network.h"
#include "neural/loop_tree.h"
#include "translator/host/thread_clock.h"

namespace kvrm {
namespace {

using RankingPointer = std::shared_ptr<const accelerate::Ranking>;

Result<RankingPointer> network_ranking(WeightsPointer weights) {
  if (!weights) {
    auto built_in = built_in_weights(neural::kLoopDetector);
    if (!built_in) return built_in.error();
    weights = std::move(*built_in);
  }
  auto network = neural::make_loop_network(*weights);
  if (!network) return Error{weights->source + ": weights of " + weights->layout->name + ", not of the loop detector"};
  return RankingPointer(std::make_shared<const accelerate::Ranking>(std::move(network)));
}

Result<RankingPointer> tree_ranking() {
  auto tree = neural::LoopTree::parse(neural::built_in_loop_tree());
  if (!tree) return tree.error();
  return RankingPointer(std::make_shared<const accelerate::Ranking>(std::move(*tree)));
}

}  // namespace

Result<RankingPointer> ranking_of(const NeuralOptions& options) {
  switch (options.loop_ranking) {
    case LoopRanking::kHottest: return RankingPointer();
    case LoopRanking::kTree: return tree_ranking();
    case LoopRanking::kNetwork: return network_ranking(options.loop_weights);
  }
  return RankingPointer();
}

struct LoopGuesser::Parts {
  RankingPointer ranking;
};

LoopGuesser::LoopGuesser(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
LoopGuesser::LoopGuesser(LoopGuesser&&) noexcept = default;
LoopGuesser::~LoopGuesser() = default;

Result<LoopGuesser> LoopGuesser::create(LoopRanking ranking, WeightsPointer weights) {
  if (ranking == LoopRanking::kHottest) return Error{"the hottest loop first: that asks no model"};
  auto made = ranking_of({.loop_ranking = ranking, .loop_weights = std::move(weights)});
  if (!made) return made.error();
  return LoopGuesser(std::make_unique<Parts>(std::move(*made)));
}

LoopGuess LoopGuesser::guess(const Loop& loop, std::size_t run) const {
  const LoopRun* const seen = run < loop.runs.size() ? &loop.runs[run] : nullptr;
  const accelerate::LoopCode code{loop.address, loop.words};
  const double begin = translator::thread_seconds();
  const neural::LoopGuess guess =
      parts_->ranking->guess(code, seen ? &seen->first : nullptr, seen && seen->second ? &*seen->second : nullptr);
  LoopGuess result;
  for (std::size_t i = 0; i < result.types.size(); ++i) result.types[i] = guess.types[i];
  result.counter = guess.counter;
  result.trips_log2 = guess.trips_log2;
  result.seconds = translator::thread_seconds() - begin;
  return result;
}

}  // namespace kvrm
