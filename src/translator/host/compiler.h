// From a plan to machine code of this host: stitches, optimizes, emits an object file; and links object files into the
// process through ORC, whose pages are never writable and executable at once.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "interpreter/entry.h"
#include "translator/plan.h"

namespace kvrm::translator {

// Linked code; the destructor frees it.
class HostCode {
 public:
  HostCode(interpreter::Handler handler, std::function<void()> release)
      : handler_(handler), release_(std::move(release)) {}
  ~HostCode() { release_(); }
  HostCode(const HostCode&) = delete;
  HostCode& operator=(const HostCode&) = delete;
  interpreter::Handler handler() const { return handler_; }

 private:
  interpreter::Handler handler_;
  std::function<void()> release_;
};

using ObjectFile = std::vector<char>;

// One thread at a time; link() may be called by any.
class HostCompiler {
 public:
  // Whether this host can do it; why not otherwise.
  static bool can_work(std::string& error);
  // Null, and why, if it cannot. With a processor's name the code is for reading, not for running. `shares_memory`: for
  // lanes that share one memory.
  static std::unique_ptr<HostCompiler> create(std::string& error, const std::string& processor = {},
                                              bool shares_memory = false);
  ~HostCompiler();

  // Names the processor and its features, which object files depend on.
  static std::string target_name();

  // Empty if the plan cannot be compiled.
  ObjectFile compile(const Plan& plan, const std::string& name);
  // Null if the object file is damaged, or if faults in windows cannot be served.
  std::unique_ptr<HostCode> link(std::span<const char> object, const std::string& name);

  // From now on link() lists its code in /tmp/perf-PID.map, which perf reads.
  void write_perf_map();

  // The optimized region as text.
  std::string text_of(const Plan& plan, bool as_assembly);

 private:
  struct Parts;
  explicit HostCompiler(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace kvrm::translator
