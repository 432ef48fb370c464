// A live line on stderr while something runs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "kvrm/modes.h"

namespace kvrm::cli {

bool stderr_is_terminal();

class ProgressLine {
 public:
  // Shows what `poll` says until the end of the block. With jobs it is a bar: `done` of `jobs` were there before. On a
  // terminal the line is drawn again several times a second, elsewhere a new one is written every two seconds.
  ProgressLine(bool show, std::function<Progress()> poll, std::uint64_t jobs = 0, std::uint64_t done = 0);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void draw(double seconds);
  void live();

  const std::function<Progress()> poll_;
  const std::uint64_t jobs_, done_;
  const bool terminal_;
  std::uint64_t before_ = 0;  // instructions when the line was last drawn
  double drawn_ = 0;  // and when that was
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace kvrm::cli
