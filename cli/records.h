// The results of a fleet: one JSON object per line, each written whole, so that a file cut short at any moment holds
// every finished record.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "inputs.h"
#include "kvrm/jobs.h"
#include "kvrm/result.h"

namespace kvrm::cli {

class ResultsHeader;

// What the writing rank gets: a line, and the program's stdout where that has a file of its own.
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
  // Opens for appending and locks it. With `resume`, the records of an earlier run are read, if its header is the same,
  // and an incomplete last line is removed; without it the file must be new or empty. "-" is stdout. Stdout, pipes and
  // the like get records only: they cannot be resumed.
  static Result<ResultsFile> open(const std::string& path, const std::string& stdout_dir,
                                  const std::vector<Input>& inputs, const ResultsHeader& header, bool resume);
  ResultsFile(ResultsFile&& other) noexcept;
  ResultsFile& operator=(ResultsFile&&) = delete;
  ~ResultsFile();

  const std::vector<std::uint64_t>& done() const { return done_; }  // indices of the earlier run's records
  // `interrupted`: asked when a pipe's reader takes nothing for a while; then write() gives up.
  Result<void> write(const Record& record, const std::function<bool()>& interrupted);
  bool reader_is_gone() const { return error_ == EPIPE; }  // why write() failed: the pipe has no reader any more
  bool gave_up() const { return error_ == ECANCELED; }

 private:
  ResultsFile() = default;
  Result<void> open_stream();
  Result<void> read_earlier(const std::vector<Input>& inputs, const ResultsHeader& header);

  int fd_ = -1;
  std::string path_, stdout_dir_;
  std::string header_;  // still to be written, before the first record
  std::vector<std::uint64_t> done_;
  bool is_stream_ = false;
  int error_ = 0;  // of the last write to the results
};

}  // namespace kvrm::cli
