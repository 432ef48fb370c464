// A trusted folder that is mounted at a second point below the root is hidden there too.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <functional>

#include "cache/folder.h"
#include "cache/mounts.h"
#include "guest.h"

namespace kvrm::linux_abi::test {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kTable =
    "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "21 20 8:2 / /home rw - ext4 /dev/sda2 rw\n"
    "22 20 8:2 /me /srv/a\\040copy rw - ext4 /dev/sda2 rw\n"
    "23 20 8:2 /me/.cache/kvrm /srv/cache rw - ext4 /dev/sda2 rw\n"
    "24 20 8:2 /me/.cache/kvrm/part /srv/part rw - ext4 /dev/sda2 rw\n"
    "25 20 8:2 /you /srv/you rw - ext4 /dev/sda2 rw\n"
    "26 20 8:3 /me/.cache/kvrm /srv/other rw - ext4 /dev/sda3 rw\n"
    "not a mount\n";

TEST(Mounts, NamesOfAFolderAreFoundInTheTable) {
  const auto mounts = cache::parse_mounts(kTable);
  ASSERT_EQ(mounts.size(), 7u);
  EXPECT_EQ(mounts[2].point, "/srv/a copy");
  EXPECT_EQ(cache::names_elsewhere("/home/me/.cache/kvrm", mounts),
            (Names{"/srv/a copy/.cache/kvrm", "/srv/cache", "/srv/part"}));
  EXPECT_EQ(cache::names_elsewhere("/srv/cache", mounts),
            (Names{"/home/me/.cache/kvrm", "/srv/a copy/.cache/kvrm", "/srv/part"}));
  EXPECT_EQ(cache::names_elsewhere("/srv/other", mounts), Names());
  EXPECT_EQ(cache::names_elsewhere("/var/cache/kvrm", mounts), Names());
}

TEST(Mounts, TheLastMountAtAPointCounts) {
  const auto mounts = cache::parse_mounts("1 0 8:1 / / rw\n2 1 8:2 / /a rw\n3 2 8:3 / /a rw\n4 1 8:3 / /b rw\n");
  EXPECT_EQ(cache::names_elsewhere("/a/x", mounts), Names{"/b/x"});
}

// What `work` says in a child with mounts of its own; "skip" where the host does not allow that.
std::string with_own_mounts(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const bool own = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    const bool may = own && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    const std::string text = may ? work() : "skip";
    std::_Exit(::write(ends[1], text.data(), text.size()) == ssize_t(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t size = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text.substr(0, size > 0 ? std::size_t(size) : 0);
}

// "name result, " for what a guest gets that tries to use the folder there.
std::string tried(Guest& guest, const std::string& folder) {
  std::string text;
  const auto add = [&](const char* what, i64 result) { text += what + (" " + std::to_string(result)) + ", "; };
  add("read", guest.open(folder + "/code"));
  add("write", guest.open(folder + "/code", 1));
  add("create", guest.open(folder + "/new", kOpenCreate | 1, 0600));
  add("list", guest.open(folder, kOpenDirectory));
  add("rename", guest.call(kRenameat, kCwd, guest.text(folder + "/code"), kCwd, guest.text("/mine", 0x100)));
  add("link", guest.call(kLinkat, kCwd, guest.text(folder + "/code"), kCwd, guest.text("/mine", 0x100), 0));
  add("unlink", guest.call(kUnlinkat, kCwd, guest.text(folder + "/code"), 0));
  return text;
}

constexpr const char* kAllRefused = "read -13, write -13, create -13, list -13, rename -13, link -13, unlink -13, ";

TEST(Mounts, ASecondMountOfTheCacheIsRefused) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "cache/kvrm");
  std::filesystem::create_directories(folder / "root/second");
  std::filesystem::create_directories(folder / "root/whole");
  std::filesystem::create_directories(folder / "root/later");
  folder.write("cache/kvrm/code", "code");
  const std::string result = with_own_mounts([&]() -> std::string {
    ::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
    const auto bind = [&](const std::string& from, const std::string& to) {
      return ::mount((folder / from).c_str(), (folder / to).c_str(), nullptr, MS_BIND, nullptr) == 0;
    };
    if (!bind("cache/kvrm", "root/second") || !bind("cache", "root/whole")) return "skip";
    const cache::Folder used = cache::Folder::of_user();
    if (!used.overlaps(folder / "root")) return "the cache is on";
    if (used.overlaps(folder / "elsewhere")) return "the cache is off";
    ProcessOptions options = rooted(folder / "root");
    options.hidden = cache::Folder::trusted();
    Guest guest(options);
    // A folder that is mounted while the guest runs is known by its inode.
    if (!bind("cache/kvrm", "root/later")) return "skip";
    const bool kept =
        guest.open("/later", kOpenDirectory) == -EACCES && guest.open("/later/new", kOpenCreate | 1, 0600) == -EACCES;
    if (!kept) return "a later mount is not refused";
    return tried(guest, "/second") + "; " + tried(guest, "/whole/kvrm");
  });
  if (result == "skip") GTEST_SKIP() << "this host does not let the test mount folders";
  EXPECT_EQ(result, std::string(kAllRefused) + "; " + kAllRefused);
  EXPECT_EQ(folder.read("cache/kvrm/code"), "code");
}

}  // namespace
}  // namespace kvrm::linux_abi::test
