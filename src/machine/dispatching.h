// From what the options say about dispatch to what engines need.
#pragma once

#include <memory>
#include <string>

#include "dispatch/router.h"
#include "kvrm/models.h"
#include "kvrm/result.h"
#include "kvrm/types.h"

namespace kvrm {

// Checked: neural dispatch has weights that may be trusted, or somebody who said that they may not be.
class Dispatching {
 public:
  static Result<Dispatching> create(const Options& options);

  dispatch::Mode mode() const { return mode_; }
  const neural::DispatchNetwork* network() const { return network_.get(); }
  bool every() const { return facts_.every; }
  // Whose word counts: "table", or the network with its checksum.
  std::string decides() const;
  // What the statistics say, with these counts.
  DispatchStatistics statistics(const dispatch::Counts& counts) const;

 private:
  dispatch::Mode mode_ = dispatch::Mode::kTable;
  std::shared_ptr<const neural::DispatchNetwork> network_;
  DispatchStatistics facts_;
};

// Adds counts of the same machine.
void add(DispatchStatistics& to, const DispatchStatistics& more);

}  // namespace kvrm
