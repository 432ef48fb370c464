// The results of a fleet: one JSON object per line, each written whole, so that a file cut short at any moment holds
// every finished record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inputs.h"
#include "kvrm/jobs.h"
#include "kvrm/result.h"

namespace kvrm::cli {

// What goes to the one who writes: a line, and the program's stdout where that has a file of its own.
struct Record {
  std::uint64_t index = 0;
  std::string ending;
  std::string line;
  std::string output;
};
Record make_record(const JobResult& result, const Input& input, bool output_in_file);

// The name of an input's stdout below --stdout-dir: "000012.out".
std::string output_name(std::uint64_t index);

class ResultsFile {
 public:
  // Opens for appending and locks it. With `resume`, the records of an earlier run are read and a torn last line is cut
  // off; without it the file must be new or empty.
  static Result<ResultsFile> open(const std::string& path, const std::string& stdout_dir,
                                  const std::vector<Input>& inputs, bool resume);
  ResultsFile(ResultsFile&& other) noexcept;
  ResultsFile& operator=(ResultsFile&&) = delete;
  ~ResultsFile();

  const std::vector<std::uint64_t>& done() const { return done_; }  // indices of the earlier run's records
  Result<void> write(const Record& record);

 private:
  ResultsFile() = default;
  Result<void> read_earlier(const std::vector<Input>& inputs);

  int fd_ = -1;
  std::string path_, stdout_dir_;
  std::vector<std::uint64_t> done_;
};

}  // namespace kvrm::cli
