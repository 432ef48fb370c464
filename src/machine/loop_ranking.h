// Converts NeuralOptions into what ranks loops.
#pragma once

#include <memory>

#include "accelerate/ranking.h"
#include "kvrm/models.h"
#include "kvrm/result.h"
#include "kvrm/types.h"

namespace kvrm {

// Null: the hottest loops are first.
Result<std::shared_ptr<const accelerate::Ranking>> ranking_of(const NeuralOptions& options);

}  // namespace kvrm
