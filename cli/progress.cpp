#include "progress.h"

#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

#include "formatted.h"
#include "streams.h"
#include "units.h"

namespace kvrm::cli {

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

ProgressLine::ProgressLine(bool show, std::function<Progress()> poll, std::uint64_t jobs, std::uint64_t done)
    : poll_(std::move(poll)), jobs_(jobs), done_(done), terminal_(stderr_is_terminal()) {
  if (show) thread_ = std::thread([this] { live(); });
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ProgressLine::draw(double seconds) {
  const Progress now = poll_();
  const double interval = seconds - drawn_;
  const double rate = interval > 0 ? static_cast<double>(now.instructions - before_) / interval : 0;
  before_ = now.instructions;
  drawn_ = seconds;
  std::string line = "kvrm: ";
  if (jobs_ != 0) {
    constexpr std::uint64_t kWidth = 24;
    const std::uint64_t done = done_ + now.jobs_done;
    const std::uint64_t filled = done * kWidth / jobs_;
    line += formatted("[{}{}] {}/{} inputs", std::string(filled, '#'), std::string(kWidth - filled, '.'), done, jobs_);
    if (now.jobs_done != 0 && done < jobs_) {
      const double left = seconds / static_cast<double>(now.jobs_done) * static_cast<double>(jobs_ - done);
      line += formatted(", {:.0f} s left", left);
    }
    line += "; ";
  }
  line += formatted("{} instructions, {}/s, {} {}", short_number(static_cast<double>(now.instructions)),
                    short_number(rate), now.lanes_alive, now.lanes_alive == 1 ? "lane" : "lanes");
  say("{}{}{}", terminal_ ? "\r\033[K" : "", line, terminal_ ? "" : "\n");
}

void ProgressLine::live() {
  using namespace std::chrono_literals;
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, terminal_ ? 100ms : 2000ms, [this] { return closing_; })) draw(seconds());
  draw(seconds());
  if (terminal_) say_text("\n");
}

}  // namespace kvrm::cli
