// A temporary root and what lies beside it: a file, a folder, a FIFO and a link that no guest may read or change.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "input.h"

namespace kvrm::fuzz {

inline constexpr rlim_t kLargestFile = 1 << 20;
// In every canary's content, and the name of a file in the canary folder: a guest that holds this word has read it.
inline constexpr const char* kWitness = "witness";

// The folder outside of everything: it holds the canaries, and the root inside of it is made anew for every run.
class Surroundings {
 public:
  Surroundings() {
    // In memory where the host has such a folder: it is made anew twice an input.
    char fast[] = "/dev/shm/kvrm-fuzz-XXXXXX", usual[] = "/tmp/kvrm-fuzz-XXXXXX";
    const char* name = ::mkdtemp(fast);
    if (name == nullptr) name = ::mkdtemp(usual);
    KVRM_PROMISE(name != nullptr);
    folder_ = name;
    make_canaries();
    null_ = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::signal(SIGXFSZ, SIG_IGN);
    ::signal(SIGPIPE, SIG_IGN);
    const rlimit limit{kLargestFile, kLargestFile};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~Surroundings() {
    std::error_code ignored;
    make_deletable(root());
    std::filesystem::remove_all(folder_, ignored);
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  void make_root() const {
    make_deletable(root());
    std::filesystem::remove_all(root());
    std::filesystem::create_directories(root() + "/d");
    write(root() + "/a", "content of a\nsecond line\n");
    write(root() + "/d/e", std::string(5000, 'e'));
    std::filesystem::create_symlink("a", root() + "/link");
    std::filesystem::create_symlink("loop", root() + "/loop");
    std::filesystem::create_symlink("../canary", root() + "/out");
    std::filesystem::create_symlink("/d/../../canary", root() + "/far");
  }

  void promise_untouched() const {
    for (const Canary& canary : canaries_) canary.promise_untouched();
    KVRM_PROMISE(entries(folder_) == 5);
    KVRM_PROMISE(entries(folder_ + "/canary.d") == 2);
  }
  // Whether this is a canary's inode.
  bool is_canary(std::uint64_t device, std::uint64_t inode) const {
    for (const Canary& canary : canaries_)
      if (canary.facts.st_dev == device && canary.facts.st_ino == inode) return true;
    return false;
  }

  const std::string& folder() const { return folder_; }
  std::string root() const { return folder_ + "/root"; }
  int null() const { return null_; }

  static void write(const std::string& path, const std::string& text) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    KVRM_PROMISE(fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(fd);
  }

 private:
  struct Canary {
    std::string path;
    struct stat facts;

    explicit Canary(std::string where) : path(std::move(where)), facts() {
      // Older than a day, so that a read would renew it where the host keeps times of access at all.
      const timespec times[2] = {{1'000'000'000, 0}, {0, UTIME_OMIT}};
      KVRM_PROMISE(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
      KVRM_PROMISE(::lstat(path.c_str(), &facts) == 0);
    }
    static bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }
    void promise_untouched() const {
      struct stat now{};
      KVRM_PROMISE(::lstat(path.c_str(), &now) == 0);
      KVRM_PROMISE(now.st_ino == facts.st_ino && now.st_size == facts.st_size && now.st_mode == facts.st_mode);
      KVRM_PROMISE(now.st_nlink == facts.st_nlink && now.st_uid == facts.st_uid && now.st_gid == facts.st_gid);
      KVRM_PROMISE(same(now.st_mtim, facts.st_mtim) && same(now.st_ctim, facts.st_ctim));
      // Of folders and links a program that walks through the host's files changes it, too.
      KVRM_PROMISE(!S_ISREG(now.st_mode) || same(now.st_atim, facts.st_atim));
    }
  };

  void make_canaries() {
    const std::string file = folder_ + "/canary", inner = folder_ + "/canary.d";
    KVRM_PROMISE(::mkdir(inner.c_str(), 0750) == 0);
    for (const std::string& path : {file, inner + "/inside", inner + "/" + kWitness}) {
      write(path, std::string(kWitness) + ": do not touch\n");
      ::chmod(path.c_str(), 0640);
    }
    KVRM_PROMISE(::mkfifo((folder_ + "/canary.fifo").c_str(), 0600) == 0);
    KVRM_PROMISE(::symlink(kWitness, (folder_ + "/canary.link").c_str()) == 0);
    for (const char* name : {"canary", "canary.d/inside", "canary.d/witness", "canary.d", "canary.fifo", "canary.link"})
      canaries_.emplace_back(folder_ + "/" + name);
  }
  static std::size_t entries(const std::string& folder) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
    return count;
  }
  // A guest may take its own permissions away.
  static void make_deletable(const std::string& folder) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(std::filesystem::symlink_status(folder, ignored))) return;
    ::chmod(folder.c_str(), 0755);
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      // A guest's link is not followed: it may lead to a canary.
      if (std::filesystem::is_directory(entry.symlink_status(ignored))) make_deletable(entry.path());
    }
  }

  std::string folder_;
  std::vector<Canary> canaries_;
  int null_ = -1;
};

// libFuzzer has files of its own, but opens none while a target runs.
inline std::size_t open_descriptors() {
  std::size_t open = 0;
  for (int fd = 0; fd < 512; ++fd) open += ::fcntl(fd, F_GETFD) >= 0;
  return open;
}

}  // namespace kvrm::fuzz
