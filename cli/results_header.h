// The first line of a fleet's results: what they depend on, so that --resume never mixes two runs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "inputs.h"
#include "kvrm/jobs.h"
#include "machine_options.h"

namespace kvrm::cli {

class ResultsHeader {
 public:
  // Reads the inputs' programs and files: what counts is what is in them, not how they are called.
  static ResultsHeader make(const Settings& settings, const JobLimits& limits, const std::vector<Input>& inputs);

  // Whether a line is a header; records are not.
  static bool is_header(const nlohmann::ordered_json& line);

  std::string line() const { return text_ + "\n"; }
  // What differs from the header of an earlier run, in words; empty: nothing.
  std::string difference(const nlohmann::ordered_json& earlier) const;

 private:
  std::string text_;  // JSON
};

}  // namespace kvrm::cli
