// The cache folder: only the user's own folder and files are used.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cache/folder.h"

namespace kvrm::cache {
namespace {

namespace fs = std::filesystem;

class OwnFolder : public testing::Test {
 protected:
  OwnFolder() {
    std::string name = testing::TempDir() + "kvrm-folder-XXXXXX";
    outer_ = mkdtemp(name.data());
    path_ = outer_ / "cache" / "kvrm";
  }
  ~OwnFolder() override { fs::remove_all(outer_); }

  static bool store(const fs::path& path) { return Folder(path).store("kind-1.bin", {}, contents(), {"kind-"}); }
  static bool finds(const fs::path& path) { return Folder(path).find("kind-1.bin", {}).has_value(); }
  static std::vector<std::byte> contents() { return std::vector<std::byte>(100, std::byte{7}); }
  static unsigned mode_of(const fs::path& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  fs::path outer_, path_;
};

TEST_F(OwnFolder, IsCreatedForTheUserAlone) {
  const mode_t before = ::umask(0);
  ASSERT_TRUE(store(path_));
  ::umask(before);
  EXPECT_TRUE(finds(path_));
  EXPECT_EQ(mode_of(path_), 0700u);
  EXPECT_EQ(mode_of(path_.parent_path()), 0700u);
  EXPECT_EQ(mode_of(path_ / "kind-1.bin"), 0600u);
  EXPECT_EQ(Folder(path_).problem(), "");
  EXPECT_EQ(Folder(path_).files().size(), 1u) << "no temporary file is left";
}

TEST_F(OwnFolder, ALinkIsNotUsed) {
  ASSERT_TRUE(store(outer_ / "elsewhere"));
  fs::create_directories(path_.parent_path());
  fs::create_directory_symlink(outer_ / "elsewhere", path_);
  EXPECT_FALSE(finds(path_));
  EXPECT_FALSE(store(path_));
  EXPECT_TRUE(Folder(path_).files().empty());
  EXPECT_NE(Folder(path_).problem().find("symbolic link"), std::string::npos);
}

TEST_F(OwnFolder, AFolderThatOthersCanWriteIsNotUsed) {
  ASSERT_TRUE(store(path_));
  for (const mode_t mode : {0777u, 0770u, 0702u}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    EXPECT_FALSE(finds(path_)) << mode;
    EXPECT_FALSE(store(path_)) << mode;
    EXPECT_NE(Folder(path_).problem().find("can be written by others"), std::string::npos);
  }
  ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
  EXPECT_TRUE(finds(path_)) << "reading is harmless";
  ASSERT_EQ(::chmod((path_ / "kind-1.bin").c_str(), 0620), 0);
  EXPECT_FALSE(finds(path_)) << "so it is with files";
}

TEST_F(OwnFolder, AFolderOfAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_TRUE(store(path_));
  ASSERT_EQ(::chown((path_ / "kind-1.bin").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(finds(path_));
  ASSERT_TRUE(store(path_));
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(finds(path_));
  EXPECT_FALSE(store(path_));
  EXPECT_NE(Folder(path_).problem().find("another user"), std::string::npos);
}

TEST_F(OwnFolder, LinksInItAreNotFollowed) {
  ASSERT_TRUE(store(path_));
  const fs::path file = path_ / "kind-1.bin", victim = outer_ / "victim";
  fs::rename(file, victim);
  fs::create_symlink(victim, file);
  EXPECT_FALSE(finds(path_));
  std::ofstream(victim, std::ios::trunc) << "mine";
  EXPECT_TRUE(store(path_)) << "the link is replaced";
  EXPECT_EQ(fs::file_size(victim), 4u);
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file)));
}

TEST_F(OwnFolder, DetectsOverlapWithAnotherFolder) {
  const Folder folder(path_);
  for (const bool is_there : {false, true}) {
    if (is_there) {
      ASSERT_TRUE(store(path_));
    }
    EXPECT_TRUE(folder.overlaps(outer_));
    EXPECT_TRUE(folder.overlaps("/"));
    fs::create_directories(outer_ / "beside" / "kvrm");
    EXPECT_FALSE(folder.overlaps(outer_ / "beside"));
    EXPECT_FALSE(folder.overlaps(outer_ / "beside" / "kvrm"));
  }
  EXPECT_TRUE(folder.overlaps(path_));
  fs::create_directories(path_ / "root");
  EXPECT_TRUE(folder.overlaps(path_ / "root"));
  // Not by name.
  fs::create_directory_symlink(outer_, outer_ / "link");
  EXPECT_TRUE(folder.overlaps(outer_ / "link"));
  EXPECT_TRUE(Folder(outer_ / "link" / "cache" / "kvrm").overlaps(outer_ / "cache"));
  EXPECT_FALSE(Folder().overlaps("/"));
}

}  // namespace
}  // namespace kvrm::cache
