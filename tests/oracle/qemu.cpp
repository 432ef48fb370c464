#include "qemu.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

extern char** environ;

namespace kvrm::oracle {
namespace {

// Room for changed blocks: a case of one word changes at most five (64 bytes unaligned).
constexpr uint64_t kBlocksPerWord = 6;

// A file mapped into memory that disappears with the object.
class BatchFile {
 public:
  BatchFile(std::string path, std::size_t size) : path_(std::move(path)), size_(size) {
    const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (ftruncate(file, static_cast<off_t>(size)) == 0) {
      void* where = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (where != MAP_FAILED) bytes_ = static_cast<std::byte*>(where);
    }
    close(file);
  }
  BatchFile(const BatchFile&) = delete;
  BatchFile& operator=(const BatchFile&) = delete;
  ~BatchFile() {
    if (bytes_) munmap(bytes_, size_);
    unlink(path_.c_str());
  }
  bool ok() const { return bytes_ != nullptr; }
  const std::string& path() const { return path_; }
  template <class T>
  T* at(uint64_t offset) const {
    return reinterpret_cast<T*>(bytes_ + offset);
  }

 private:
  std::string path_;
  std::size_t size_;
  std::byte* bytes_ = nullptr;
};

constexpr uint64_t round_up(uint64_t value) { return (value + 63) & ~uint64_t{63}; }

struct Sizes {
  uint64_t cases = 0, blocks = 0;
  explicit Sizes(const std::vector<Group>& groups) {
    for (const Group& group : groups) {
      cases += group.inputs.size();
      blocks += group.inputs.size() * group.words.size() * kBlocksPerWord;
    }
  }
};

struct InputLayout {
  uint64_t memory, groups, states, size;
  InputLayout(std::size_t group_count, uint64_t cases) {
    memory = round_up(sizeof(OracleInput));
    groups = round_up(memory + ORACLE_DATA_SIZE);
    states = round_up(groups + group_count * sizeof(OracleGroup));
    size = round_up(states + cases * sizeof(OracleState));
  }
};

void fill_input(const BatchFile& file, const InputLayout& layout, const std::vector<Group>& groups,
                const Memory& memory, uint64_t cases) {
  *file.at<OracleInput>(0) = {
      ORACLE_MAGIC, static_cast<uint32_t>(groups.size()), static_cast<uint32_t>(cases), layout.memory, layout.groups,
      layout.states};
  std::memcpy(file.at<std::byte>(layout.memory), memory.data(), memory.size());
  auto* out = file.at<OracleGroup>(layout.groups);
  auto* state = file.at<OracleState>(layout.states);
  for (const Group& group : groups) {
    out->word_count = static_cast<uint32_t>(group.words.size());
    out->case_count = static_cast<uint32_t>(group.inputs.size());
    std::memcpy(out->words, group.words.data(), group.words.size() * 4);
    ++out;
    for (const Input& input : group.inputs) *state++ = expand(input);
  }
}

constexpr int kHung = -1, kNotStarted = -2;

// Waits for the child; kills it, and it alone, when its time is over. Returns the wait status, or kHung.
int wait_for(pid_t child, unsigned timeout_seconds) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  int status = kHung;
  if (handle >= 0) {
    pollfd waiting = {handle, POLLIN, 0};
    int ready = 0;
    do {
      ready = poll(&waiting, 1, static_cast<int>(timeout_seconds * 1000));
    } while (ready < 0 && errno == EINTR);
    close(handle);
    if (ready == 0) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return kHung;
    }
  }
  waitpid(child, &status, 0);
  return status;
}

// Runs a program with its output in a file. Returns the wait status, kHung, or kNotStarted.
int spawn(std::vector<std::string> arguments, const std::string& output, unsigned timeout_seconds) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_TRUNC, 0);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed ? kNotStarted : wait_for(child, timeout_seconds);
}

bool aborted(int status) { return status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT; }

std::string describe(int status, uint64_t finished, uint64_t cases) {
  const std::string where = " after " + std::to_string(finished) + " of " + std::to_string(cases) + " cases";
  if (status == kHung) return "QEMU hung" + where;
  if (status == kNotStarted) return "QEMU could not be started";
  if (WIFSIGNALED(status)) return "QEMU died of signal " + std::to_string(WTERMSIG(status)) + where;
  return "the guest gave up with status " + std::to_string(WEXITSTATUS(status)) + where;
}

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string line, last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last.empty() ? "" : ": " + last;
}

}  // namespace

std::string batch_folder() {
  const char* shared = "/dev/shm";
  if (access(shared, W_OK) == 0) return shared;
  return std::filesystem::temp_directory_path().string();
}

Qemu::Batch Qemu::run(const std::vector<Group>& groups, const Memory& memory) const {
  static std::atomic<unsigned> serial = 0;
  Batch batch;
  const Sizes sizes(groups);
  if (sizes.cases == 0) return batch;
  const std::string stem = (folder.empty() ? batch_folder() : folder) + "/kvrm-oracle-" + std::to_string(getpid()) +
                           "-" + std::to_string(serial++);
  const InputLayout layout(groups.size(), sizes.cases);
  const uint64_t results_at = round_up(sizeof(OracleOutput));
  const uint64_t blocks_at = round_up(results_at + sizes.cases * sizeof(OracleResult));
  const BatchFile input(stem + ".in", layout.size);
  const BatchFile output(stem + ".out", blocks_at + sizes.blocks * sizeof(OracleBlock));
  if (!input.ok() || !output.ok()) {
    batch.error = "cannot make " + stem + ".in and .out: " + std::strerror(errno);
    return batch;
  }
  fill_input(input, layout, groups, memory, sizes.cases);
  auto* header = output.at<OracleOutput>(0);
  *header = {0, 0, sizes.blocks, results_at, blocks_at};

  // What QEMU says goes to a file: its failed assertions on unallocated words are expected (outcome_rules).
  const BatchFile talk(stem + ".err", 1);
  auto* results = output.at<OracleResult>(results_at);
  uint64_t before = 0;
  do {
    before = header->finished;
    const int status =
        spawn({program, "-cpu", "neoverse-n1", guest, input.path(), output.path()}, talk.path(), timeout_seconds);
    batch.finished = header->finished;
    if (status == 0 && batch.finished == sizes.cases) break;
    if (!aborted(status) || batch.finished == before) {
      batch.error = describe(status, batch.finished, sizes.cases) + last_line(talk.path());
      return batch;
    }
    // The abort() of QEMU's translator first looks like a SIGSEGV of the guest, so the guilty case has a result,
    // a wrong one; QEMU dies on the way to the next.
    results[batch.finished - 1].signal = SIGABRT;
  } while (batch.finished < sizes.cases);

  const auto* blocks = output.at<const OracleBlock>(blocks_at);
  batch.outcomes.resize(sizes.cases);
  for (uint64_t i = 0; i < sizes.cases; ++i) {
    const OracleResult& result = results[i];
    const OracleBlock* first = blocks + result.first_block;
    batch.outcomes[i] = {result.signal, result.code, result.fault_address, result.state,
                         std::vector<OracleBlock>(first, first + result.block_count)};
  }
  return batch;
}

}  // namespace kvrm::oracle
