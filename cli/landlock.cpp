#include "landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace kvrm::cli {
namespace {

// Debian 12's headers end with version 2.
constexpr std::uint64_t kTruncate = 1ULL << 14;                      // version 3
constexpr std::uint64_t kDeviceControl = 1ULL << 15;                 // version 5
constexpr std::uint64_t kBindTcp = 1ULL << 0, kConnectTcp = 1ULL << 1;    // version 4
constexpr std::uint64_t kAbstractSockets = 1ULL << 0, kSignals = 1ULL << 1;  // version 6
struct Ruleset {
  std::uint64_t files, network, scopes;
};

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kDevice =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kDeviceControl;
constexpr std::uint64_t kStore =
    kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE | kTruncate;
constexpr std::uint64_t kRoot = kStore | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_REFER;
constexpr std::uint64_t kNever = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK;
// What may be said of a file; the rest is about folders.
constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | kDevice;

Ruleset everything(int version) {
  std::uint64_t files = kRoot | kDevice | kNever;
  if (version < 3) files &= ~kTruncate;
  if (version < 5) files &= ~kDeviceControl;
  return {files, version >= 4 ? kBindTcp | kConnectTcp : 0, version >= 6 ? kAbstractSockets | kSignals : 0};
}

std::size_t size_of_ruleset(int version) {
  return version >= 6 ? sizeof(Ruleset) : version >= 4 ? 2 * sizeof(std::uint64_t) : sizeof(std::uint64_t);
}

Error failure(const char* what) { return Error{std::string(what) + ": " + std::strerror(errno)}; }

class Descriptor {
 public:
  explicit Descriptor(long number) : number_(static_cast<int>(number)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  bool ok() const { return number_ >= 0; }

 private:
  int number_;
};

Result<void> allow(const Descriptor& ruleset, const std::string& path, std::uint64_t access) {
  const Descriptor entry(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat facts{};
  if (!entry.ok() || ::fstat(entry.number(), &facts) != 0) return {};  // opening it later reports why
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(facts.st_mode) ? access : access & kOfFiles;
  rule.parent_fd = entry.number();
  if (::syscall(SYS_landlock_add_rule, ruleset.number(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) return {};
  if (errno == EBADFD) return {};  // a pipe's file system, which Landlock leaves alone
  return failure(("landlock_add_rule for " + path).c_str());
}

// The kernel counts a process's threads among the links of this folder.
bool other_threads_run() {
  struct stat facts{};
  constexpr nlink_t kWithOneThread = 3;
  return ::stat("/proc/self/task", &facts) == 0 && facts.st_nlink > kWithOneThread;
}

}  // namespace

Result<int> landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 0 && errno == EOPNOTSUPP) return Error{"switched off when the kernel was started"};
  if (version < 0 && errno == ENOSYS) return Error{"the kernel has none (Linux 5.19 or newer is needed)"};
  if (version < 0) return failure("landlock_create_ruleset");
  // It refuses all renames between folders, which a guest may do.
  if (version < 2) return Error{"the kernel's is too old (Linux 5.19 or newer is needed)"};
  return static_cast<int>(version);
}

Result<void> restrict_files(const ReachableFiles& files) {
  const auto version = landlock_version();
  if (!version) return version.error();
  if (other_threads_run()) return Error{"other threads run already"};
  const Ruleset handled = everything(version.value());
  const Descriptor ruleset(::syscall(SYS_landlock_create_ruleset, &handled, size_of_ruleset(version.value()), 0));
  if (!ruleset.ok()) return failure("landlock_create_ruleset");
  const struct {
    const std::vector<std::string>& paths;
    std::uint64_t access;
  } groups[] = {{files.readable, kRead}, {files.devices, kDevice}, {files.stores, kStore}, {files.roots, kRoot}};
  for (const auto& group : groups) {
    for (const std::string& path : group.paths) {
      if (auto allowed = allow(ruleset, path, group.access & handled.files); !allowed) return allowed;
    }
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failure("no_new_privs");
  if (::syscall(SYS_landlock_restrict_self, ruleset.number(), 0) != 0) return failure("landlock_restrict_self");
  return {};
}

}  // namespace kvrm::cli
