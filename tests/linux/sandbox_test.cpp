// No path leaves the root.
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "guest.h"
#include "linux/sandbox.h"

namespace kvrm::linux_abi::test {
namespace {

// An outer folder with a secret, and the root inside it.
class SandboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(outer_ / "root/dir/sub");
    outer_.write("secret", "secret");
    outer_.write("root/file", "inside");
    outer_.write("root/dir/deep", "deep");
    ProcessOptions options;
    options.root = outer_ / "root";
    guest_ = std::make_unique<Guest>(options);
  }
  void link(const std::string& target, const std::string& name) {
    std::filesystem::create_symlink(target, outer_ / ("root/" + name));
  }
  std::string contents(const std::string& path) {
    const i64 fd = guest_->open(path);
    if (fd < 0) return "errno " + std::to_string(-fd);
    const i64 n = guest_->call(kRead, u64(fd), kScratch, 100);
    guest_->call(kClose, u64(fd));
    return n < 0 ? "errno " + std::to_string(-n) : guest_->get_text(kScratch, std::size_t(n));
  }
  u64 path(const std::string& text, u64 offset = 0) { return guest_->text(text, offset); }

  TemporaryFolder outer_;
  std::unique_ptr<Guest> guest_;
};

TEST_F(SandboxTest, PlainPathsWork) {
  EXPECT_EQ(contents("file"), "inside");
  EXPECT_EQ(contents("/file"), "inside");
  EXPECT_EQ(contents("dir/../file"), "inside");
  EXPECT_EQ(contents("/dir/deep"), "deep");
}

TEST_F(SandboxTest, DotsStopAtTheRoot) {
  EXPECT_EQ(contents("../secret"), "errno 2");
  EXPECT_EQ(contents("/../../../../secret"), "errno 2");
  EXPECT_EQ(contents("dir/../../secret"), "errno 2");
  EXPECT_EQ(contents("../file"), "inside");
  EXPECT_EQ(contents(outer_ / "secret"), "errno 2");
}

TEST_F(SandboxTest, LinksStayInside) {
  link(outer_ / "secret", "absolute");
  link("../secret", "relative");
  link("/file", "to_file");
  link("/", "slash");
  link("../../../..", "up");
  EXPECT_EQ(contents("absolute"), "errno 2");
  EXPECT_EQ(contents("relative"), "errno 2");
  EXPECT_EQ(contents("to_file"), "inside");
  EXPECT_EQ(contents("slash/file"), "inside");
  EXPECT_EQ(contents("up/secret"), "errno 2");
  EXPECT_EQ(contents("up/file"), "inside");
}

TEST_F(SandboxTest, LinksTheGuestMakesStayInside) {
  EXPECT_EQ(0, guest_->call(kSymlinkat, path(outer_ / "secret"), kCwd, path("l", 0x1000)));
  EXPECT_EQ(contents("l"), "errno 2");
  EXPECT_EQ(0, guest_->call(kSymlinkat, path("/../../.."), kCwd, path("m", 0x1000)));
  EXPECT_EQ(contents("m/secret"), "errno 2");
  // Writing through a dangling link creates inside the root or not at all.
  EXPECT_LT(guest_->open("l", kOpenWriteOnly | kOpenCreate | kOpenTruncate), 0);
  EXPECT_EQ(outer_.read("secret"), "secret");
}

TEST_F(SandboxTest, ProcDoesNotLeadOut) {
  ProcessOptions options;
  options.root = "/";
  Guest whole(options);
  for (const char* name : {"/proc/self/root/etc/passwd", "/proc/self/mem", "/proc/self/fd/0", "/proc/self/cwd",
                           "/proc/self/environ", "/proc/1/root", "/proc/thread-self/mem", "/sys/kernel/notes",
                           "/dev/mem", "/dev/ptmx", "/proc/self/../self/mem", "/proc/sys/kernel/hostname"})
    for (const u32 flags : {0u, u32{kOpenReadWrite}, u32{kOpenPath}}) {
      const i64 fd = whole.open(name, flags);
      // An O_PATH handle to a device is harmless: it can only be asked about.
      if (fd < 0) continue;
      EXPECT_TRUE(flags == kOpenPath && std::string(name).substr(0, 5) == "/dev/") << name;
      EXPECT_EQ(whole.call(kRead, u64(fd), kScratch, 1), -EBADF);
    }
  EXPECT_GE(whole.open("/etc/passwd"), 0);
  EXPECT_GE(whole.open("/proc/self/maps"), 0);  // the guest's own
}

TEST_F(SandboxTest, DescriptorsOfFoldersDoNotLeadOut) {
  const i64 dir = guest_->open("dir", kOpenDirectory);
  ASSERT_GE(dir, 0);
  EXPECT_EQ(guest_->call(kOpenat, u64(dir), path("../../secret"), 0), -ENOENT);
  const i64 fd = guest_->call(kOpenat, u64(dir), path("../file"), 0);
  EXPECT_GE(fd, 0);
  EXPECT_EQ(guest_->call(kOpenat, u64(fd), path("x"), 0), -ENOTDIR);
  EXPECT_EQ(guest_->call(kOpenat, 99, path("x"), 0), -EBADF);
  EXPECT_EQ(guest_->call(kOpenat, 99, path("/file"), 0), fd + 1);
}

TEST_F(SandboxTest, AFolderFromTheHostIsNotARoot) {
  const int outside = ::open(outer_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ProcessOptions options;
  options.root = outer_ / "root";
  options.stdin_fd = outside;
  Guest guest(options);
  EXPECT_LT(guest.call(kOpenat, 0, guest.text("secret"), 0), 0);
  EXPECT_LT(guest.call(kFchdir, 0), 0);
  EXPECT_EQ(guest.call(kGetdents64, 0, kScratch, 4096), -ENOTDIR);
  ::close(outside);
}

TEST_F(SandboxTest, NamesCannotBeMovedOut) {
  EXPECT_EQ(guest_->call(kRenameat, kCwd, path("file"), kCwd, path("../../stolen", 0x1000)), 0);
  EXPECT_FALSE(std::filesystem::exists(outer_ / "stolen"));
  EXPECT_EQ(contents("stolen"), "inside");
  EXPECT_EQ(guest_->call(kRenameat, kCwd, path("../secret"), kCwd, path("got", 0x1000)), -ENOENT);
  link("..", "up");
  EXPECT_EQ(guest_->call(kRenameat, kCwd, path("up/secret"), kCwd, path("got", 0x1000)), -ENOENT);
  EXPECT_EQ(guest_->call(kRenameat, kCwd, path(".."), kCwd, path("got", 0x1000)), -EBUSY);
  EXPECT_EQ(guest_->call(kRenameat, kCwd, path("/"), kCwd, path("got", 0x1000)), -EBUSY);
  EXPECT_EQ(guest_->call(kLinkat, kCwd, path("up/secret"), kCwd, path("got", 0x1000), 0), -ENOENT);
  link(outer_ / "secret", "abs");
  EXPECT_EQ(guest_->call(kLinkat, kCwd, path("abs"), kCwd, path("got", 0x1000), kAtSymlinkFollow), -ENOENT);
  EXPECT_EQ(guest_->call(kLinkat, kCwd, path("abs/"), kCwd, path("got2", 0x1000), 0), -ENOENT);
  EXPECT_EQ(guest_->call(kUnlinkat, kCwd, path("../secret"), 0), -ENOENT);
  EXPECT_EQ(guest_->call(kMkdirat, kCwd, path("../made"), 0755), 0);
  EXPECT_FALSE(std::filesystem::exists(outer_ / "made"));
  EXPECT_TRUE(std::filesystem::exists(outer_ / "root/made"));
  EXPECT_EQ(guest_->call(kUnlinkat, kCwd, path(".."), kAtRemovedir), -ENOTEMPTY);
  EXPECT_EQ(guest_->call(kUnlinkat, kCwd, path("."), kAtRemovedir), -EINVAL);
  EXPECT_EQ(guest_->call(kUnlinkat, kCwd, path("/"), kAtRemovedir), -EBUSY);
  EXPECT_EQ(guest_->call(kMkdirat, kCwd, path("/.."), 0755), -EEXIST);
}

TEST_F(SandboxTest, AFolderMovedWhileOpenStaysInside) {
  const i64 dir = guest_->open("dir/sub", kOpenDirectory);
  ASSERT_GE(dir, 0);
  ASSERT_EQ(guest_->call(kFchdir, u64(dir)), 0);
  ASSERT_EQ(guest_->call(kRenameat, kCwd, path("/dir/sub"), kCwd, path("/moved", 0x1000)), 0);
  EXPECT_EQ(guest_->call(kOpenat, u64(dir), path("../../../secret"), 0), -ENOENT);
  EXPECT_EQ(contents("../file"), "inside");
  EXPECT_EQ(guest_->call(kGetcwd, kScratch, 100), 7);
  EXPECT_EQ(guest_->get_text(kScratch, 7), std::string("/moved\0", 7));
  // Moved out of the root by the host: then it is nowhere.
  std::filesystem::rename(outer_ / "root/moved", outer_ / "moved");
  EXPECT_EQ(guest_->call(kOpenat, u64(dir), path("../secret"), 0), -ENOENT);
  EXPECT_EQ(guest_->call(kGetcwd, kScratch, 100), -ENOENT);
  EXPECT_EQ(contents("../secret"), "errno 2");
}

TEST_F(SandboxTest, ChangingDoesNotFollowOut) {
  link(outer_ / "secret", "abs");
  EXPECT_EQ(guest_->call(kFchmodat, kCwd, path("abs"), 0777), -ENOENT);
  EXPECT_EQ(guest_->call(kFchmodat, kCwd, path("../secret"), 0777), -ENOENT);
  EXPECT_EQ(guest_->call(kUtimensat, kCwd, path("abs"), 0, 0), -ENOENT);
  EXPECT_EQ(guest_->call(45, path("abs"), 0), -ENOENT);  // truncate
  EXPECT_EQ(outer_.read("secret"), "secret");
  // What is the host's keeps its mode and owner, whatever it is called.
  for (const char* name : {"/dev/null", "/dev/../dev/null", "//dev//null", "/proc/self/exe"}) {
    EXPECT_EQ(guest_->call(kFchmodat, kCwd, path(name), 0600), -EPERM);
    EXPECT_EQ(guest_->call(kFchownat, kCwd, path(name), 1, 1, 0), -EPERM);
    EXPECT_EQ(guest_->call(kFchownat, kCwd, path(name), 1, 1, kAtEmptyPath), -EPERM);
    EXPECT_EQ(guest_->call(kUtimensat, kCwd, path(name), 0, 0), -EPERM);
  }
  const i64 fd = guest_->open("/dev/null", kOpenReadWrite);
  EXPECT_EQ(guest_->call(kFchmod, u64(fd), 0600), -EPERM);
  EXPECT_EQ(guest_->call(kFchmod, 1, 0600), -EPERM);
  EXPECT_EQ(guest_->call(kUtimensat, 1, 0, 0, 0), -EPERM);
  EXPECT_EQ(guest_->call(kFchownat, 1, path(""), 1, 1, kAtEmptyPath), -EPERM);
}

// As the cache folder of a guest whose root holds it: neither what it holds nor a name that leads there can be changed.
TEST_F(SandboxTest, AHiddenFolderBelowTheRootCannotBeUsed) {
  std::filesystem::create_directories(outer_ / "root/.cache/kvrm");
  outer_.write("root/.cache/kvrm/code", "code");
  outer_.write("root/.cache/other", "other");
  link(".cache/kvrm", "way");
  ProcessOptions options;
  options.root = outer_ / "root";
  options.hidden = {outer_ / "root/.cache/kvrm", outer_ / "root/scratch/kvrm"};
  std::filesystem::create_directories(outer_ / "far");
  link(outer_ / "far", "scratch");  // leads out of the root, and is trusted all the same
  link("/.cache/kvrm/planted", "dangling");
  guest_ = std::make_unique<Guest>(options);
  EXPECT_EQ(contents("/.cache/other"), "other");
  for (const char* name : {"/.cache/kvrm/code", "/way/code", "/dir/../.cache/kvrm/code"})
    EXPECT_EQ(contents(name), "errno 13") << name;
  EXPECT_EQ(guest_->open("/way/new", kOpenCreate | 1, 0600), -EACCES);
  EXPECT_FALSE(std::filesystem::exists(outer_ / "root/.cache/kvrm/new"));
  EXPECT_EQ(guest_->open("/dangling", kOpenCreate | 1, 0600), -EACCES);
  EXPECT_FALSE(std::filesystem::exists(outer_ / "root/.cache/kvrm/planted"));
  EXPECT_EQ(guest_->open("/way/code", kOpenTruncate | 1), -EACCES);
  EXPECT_EQ(std::filesystem::file_size(outer_ / "root/.cache/kvrm/code"), 4u);
  const i64 cut = guest_->open("/file", kOpenTruncate | 1);
  EXPECT_GE(cut, 0);
  EXPECT_EQ(std::filesystem::file_size(outer_ / "root/file"), 0u);
  EXPECT_GE(guest_->open("/fresh", kOpenCreate | 1, 0600), 0);
  const u64 at = kCwd;
  EXPECT_EQ(guest_->call(kUnlinkat, at, path("/scratch"), 0), -EACCES);
  EXPECT_EQ(guest_->call(kUnlinkat, at, path("/.cache/kvrm/code"), 0), -EACCES);
  EXPECT_EQ(guest_->call(kRenameat, at, path("/.cache"), at, path("/elsewhere", 100)), -EACCES);
  EXPECT_EQ(guest_->call(kRenameat, at, path("/.cache/kvrm"), at, path("/elsewhere", 100)), -EACCES);
  EXPECT_EQ(guest_->call(kRenameat, at, path("/dir"), at, path("/.cache/kvrm", 100)), -EACCES);
  EXPECT_EQ(guest_->call(kLinkat, at, path("/.cache/kvrm/code"), at, path("/mine", 100), 0), -EACCES);
  std::filesystem::remove_all(outer_ / "root/.cache");
  EXPECT_EQ(guest_->call(kMkdirat, at, path("/.cache"), 0700), -EACCES);
  EXPECT_EQ(guest_->call(kSymlinkat, path("/dir"), at, path("/.cache", 100)), -EACCES);
  EXPECT_EQ(guest_->open("/.cache", kOpenCreate | 1, 0600), -EACCES);
  EXPECT_EQ(guest_->call(kMkdirat, at, path("/plain"), 0700), 0);
}

// Another guest puts a link there between the question whether the name is free and the making of the file.
TEST_F(SandboxTest, ALinkThatComesMeanwhileCreatesNothingInAHiddenFolder) {
  std::filesystem::create_directories(outer_ / "root/cache");
  std::filesystem::create_directories(outer_ / "root/plain");
  ProcessOptions options;
  options.root = outer_ / "root";
  options.hidden = {outer_ / "root/cache"};
  guest_ = std::make_unique<Guest>(options);
  std::atomic<bool> done = false;
  std::thread other([&] {
    const std::string name = outer_ / "root/name", folder = outer_ / "root/folder";
    while (!done) {
      (void)!::symlink("cache/planted", name.c_str());
      (void)!::symlink("cache", folder.c_str());
      ::unlink(name.c_str());
      ::unlink(folder.c_str());
      (void)!::symlink("plain", folder.c_str());
      ::unlink((outer_ / "root/plain/planted").c_str());
      ::unlink(folder.c_str());
    }
  });
  for (int i = 0; i < 20000; ++i) {
    for (const char* name : {"/name", "/folder/planted"}) {
      const i64 fd = guest_->open(name, kOpenCreate | 1, 0600);
      if (fd >= 0) guest_->call(kClose, u64(fd));
    }
  }
  done = true;
  other.join();
  EXPECT_TRUE(std::filesystem::is_empty(outer_ / "root/cache"));
}

TEST_F(SandboxTest, DevicesAreRefused) {
  if (::mknod((outer_ / "root/null").c_str(), S_IFCHR | 0666, 0x103) == 0) {
    EXPECT_EQ(guest_->open("null"), -EACCES);
    EXPECT_EQ(guest_->open("null", kOpenReadWrite | kOpenCreate), -EACCES);
  }
  EXPECT_EQ(guest_->call(kMknodat, kCwd, path("dev"), S_IFCHR | 0666, 0x103), -EPERM);
  EXPECT_EQ(guest_->call(kMknodat, kCwd, path("dev"), S_IFBLK | 0666, 0x103), -EPERM);
  // A FIFO without a writer does not hang the host.
  EXPECT_EQ(guest_->call(kMknodat, kCwd, path("fifo"), S_IFIFO | 0666, 0), 0);
  EXPECT_GE(guest_->open("fifo", kOpenReadOnly), 0);
}

TEST_F(SandboxTest, TheProgramsFileCannotBeSwapped) {
  outer_.write("root/prog", "program");
  ProcessOptions options;
  options.exe_path = outer_ / "root/prog";
  Guest guest(options);  // no root: only the program is visible
  std::filesystem::remove(outer_ / "root/prog");
  std::filesystem::create_symlink(outer_ / "secret", outer_ / "root/prog");
  const i64 fd = guest.open(outer_ / "root/prog");
  ASSERT_GE(fd, 0);
  ASSERT_EQ(guest.call(kRead, u64(fd), kScratch, 100), 7);
  EXPECT_EQ(guest.get_text(kScratch, 7), "program");
  EXPECT_EQ(guest.open(outer_ / "root/prog", kOpenReadWrite), -ETXTBSY);
  EXPECT_EQ(guest.open("/proc/self/exe"), fd + 1);
  EXPECT_EQ(guest.open("/etc/passwd"), -ENOENT);
  EXPECT_EQ(guest.open("x", kOpenCreate | kOpenWriteOnly), -ENOENT);
  EXPECT_EQ(guest.call(kReadlinkat, kCwd, guest.text("/proc/self/exe"), kScratch + 0x1000, 100),
            i64((outer_ / "root/prog").size()));
}

// A lane that started earlier may have replaced the program's name.
TEST_F(SandboxTest, TheProgramIsTheFileThatWasLoaded) {
  outer_.write("root/prog", "program");
  ProcessOptions options;
  options.root = outer_ / "root";
  options.exe_path = outer_ / "root/prog";
  options.exe = open_exe_file(options.exe_path);
  std::filesystem::remove(outer_ / "root/prog");
  std::filesystem::create_symlink(outer_ / "secret", outer_ / "root/prog");
  Guest guest(options);
  const i64 fd = guest.open("/proc/self/exe");
  ASSERT_GE(fd, 0);
  ASSERT_EQ(guest.call(kRead, u64(fd), kScratch, 100), 7);
  EXPECT_EQ(guest.get_text(kScratch, 7), "program");
  EXPECT_EQ(guest.call(kReadlinkat, kCwd, guest.text("/proc/self/exe"), kScratch + 0x1000, 100), 5);
  EXPECT_EQ(guest.get_text(kScratch + 0x1000, 5), "/prog");
}

u32 mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST_F(SandboxTest, NoFileGetsTheBitsThatLendRights) {
  for (const u32 bits : {04000u, 02000u, 06000u}) {
    EXPECT_EQ(guest_->call(kFchmodat, kCwd, path("file"), bits | 0755), -EPERM);
    EXPECT_EQ(guest_->call(kFchmodat, kCwd, path("dir"), bits | 0755), -EPERM);
    const i64 fd = guest_->open("file");
    EXPECT_EQ(guest_->call(kFchmod, u64(fd), bits | 0755), -EPERM);
    const std::string name = "new" + std::to_string(bits);
    EXPECT_GE(guest_->open(name, kOpenCreate | kOpenWriteOnly, bits | 0755), 0);
    EXPECT_EQ(mode_of(outer_ / ("root/" + name)) & 06000, 0u);
    EXPECT_EQ(guest_->call(kMknodat, kCwd, path(name + "n"), S_IFREG | bits | 0755, 0), 0);
    EXPECT_EQ(mode_of(outer_ / ("root/" + name + "n")) & 06000, 0u);
    EXPECT_EQ(guest_->call(kMkdirat, kCwd, path(name + "d"), bits | 0755), 0);
    EXPECT_EQ(mode_of(outer_ / ("root/" + name + "d")) & 06000, 0u);
  }
  EXPECT_EQ(guest_->call(kFchmodat, kCwd, path("dir"), 01755), 0);
  EXPECT_EQ(mode_of(outer_ / "root/dir"), 01755u);
}

TEST_F(SandboxTest, AFileThatIsChangedLosesTheBitsThatLendRights) {
  ASSERT_EQ(::chmod((outer_ / "root/file").c_str(), 06755), 0);
  ASSERT_GE(guest_->open("file"), 0);
  EXPECT_EQ(mode_of(outer_ / "root/file"), 06755u);
  ASSERT_GE(guest_->open("file", kOpenWriteOnly), 0);
  EXPECT_EQ(mode_of(outer_ / "root/file"), 0755u);
  ASSERT_EQ(::chmod((outer_ / "root/file").c_str(), 04755), 0);
  ASSERT_EQ(guest_->call(45, path("file"), 2), 0);  // truncate
  EXPECT_EQ(mode_of(outer_ / "root/file"), 0755u);
}

TEST_F(SandboxTest, DeviceNodesStayAsTheyAre) {
  const std::string node = outer_ / "root/null";
  if (::mknod(node.c_str(), S_IFCHR | 0600, 0x103) != 0) GTEST_SKIP() << "making a device needs rights";
  EXPECT_EQ(guest_->call(kFchmodat, kCwd, path("null"), 0666), -EPERM);
  EXPECT_EQ(guest_->call(kFchownat, kCwd, path("null"), 1, 1, 0), -EPERM);
  EXPECT_EQ(guest_->call(kUtimensat, kCwd, path("null"), 0, 0), -EPERM);
  const i64 handle = guest_->open("null", kOpenPath);
  ASSERT_GE(handle, 0);
  EXPECT_EQ(guest_->call(kFchownat, u64(handle), path(""), 1, 1, kAtEmptyPath), -EPERM);
  EXPECT_EQ(guest_->call(kLinkat, kCwd, path("null"), kCwd, path("other", 0x1000), 0), -EPERM);
  EXPECT_EQ(guest_->call(kRenameat, kCwd, path("null"), kCwd, path("other", 0x1000)), -EPERM);
  EXPECT_EQ(guest_->call(kRenameat, kCwd, path("file"), kCwd, path("null", 0x1000)), -EPERM);
  EXPECT_EQ(guest_->call(kUnlinkat, kCwd, path("null"), 0), -EPERM);
  EXPECT_EQ(mode_of(node), 0600u);
}

TEST(Sandbox, OnlyFileSystemsThatHoldPlainFilesAreAllowed) {
  EXPECT_TRUE(holds_plain_files(0xef53));  // ext4
  EXPECT_TRUE(holds_plain_files(0x01021994));  // tmpfs
  EXPECT_FALSE(holds_plain_files(0x9fa0));  // proc
  EXPECT_FALSE(holds_plain_files(0x62656572));  // sysfs
  EXPECT_FALSE(holds_plain_files(0x6165676c));  // pstore
  EXPECT_FALSE(holds_plain_files(0x65735543));  // fusectl
  EXPECT_FALSE(holds_plain_files(0));
  ProcessOptions options;
  options.root = "/proc";
  const auto process = Process::create(options);
  ASSERT_FALSE(process.ok());
  EXPECT_NE(process.error().message.find("file system"), std::string::npos);
}

TEST(Sandbox, ADescriptorBudgetCountsOpenFiles) {
  const TemporaryFolder folder;
  folder.write("file", "");
  ProcessOptions options = rooted(folder);
  options.most_files = 6;
  Guest guest(options);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(guest.call(kPipe2, kScratch, 0), 0);
  const i64 file = guest.open("file");
  EXPECT_GE(file, 0);
  EXPECT_EQ(guest.call(kPipe2, kScratch, 0), -EMFILE);  // one is left, and a pipe is two
  EXPECT_GE(guest.open("/dev/null"), 0);
  EXPECT_EQ(guest.open("file"), -EMFILE);
  EXPECT_EQ(guest.open("/proc/self/maps"), -EMFILE);
  // Copies cost the host nothing, and any number below the guest's own limit is theirs.
  EXPECT_EQ(guest.call(kDup3, u64(file), 255, 0), 255);
  EXPECT_EQ(guest.call(kClose, u64(file)), 0);
  EXPECT_EQ(guest.open("file"), -EMFILE);
  EXPECT_EQ(guest.call(kClose, 255), 0);
  EXPECT_EQ(guest.open("file"), file);
}

TEST(Sandbox, ARootThatIsNotThereIsAnError) {
  ProcessOptions options;
  options.root = "/nonexistent/folder";
  const auto process = Process::create(options);
  ASSERT_FALSE(process.ok());
  EXPECT_NE(process.error().message.find("/nonexistent/folder"), std::string::npos);
}

}  // namespace
}  // namespace kvrm::linux_abi::test
