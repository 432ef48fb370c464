// Converts NeuralOptions into the settings of the engines.
#pragma once

#include <memory>
#include <string>

#include "dispatch/router.h"
#include "kvrm/models.h"
#include "kvrm/result.h"
#include "kvrm/types.h"

namespace kvrm {

// Checked: neural dispatch has verified weights, or the caller accepts unverified ones.
class DispatchOptions {
 public:
  static Result<DispatchOptions> create(const Options& options);

  dispatch::Mode mode() const { return mode_; }
  const neural::DispatchNetwork* network() const { return network_.get(); }
  bool every() const { return facts_.every; }
  // What routes words: "table", or the network with its checksum.
  std::string decides() const;
  // The table alone routes words; no prediction is recorded.
  bool is_table() const { return mode_ == dispatch::Mode::kTable; }
  // The statistics for these counts.
  DispatchStatistics statistics(const dispatch::Counts& counts) const;

 private:
  dispatch::Mode mode_ = dispatch::Mode::kTable;
  std::shared_ptr<const neural::DispatchNetwork> network_;
  DispatchStatistics facts_;
};

}  // namespace kvrm
