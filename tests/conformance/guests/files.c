// Files below the root: every call's result and error.
#include "guest.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char buffer[256];

static const char* text_of(long n) {
  buffer[n < 0 ? 0 : n] = 0;
  return buffer;
}

static void reading_and_writing(void) {
  int fd = open("data.txt", O_RDWR | O_CREAT | O_EXCL, 0640);
  REQUIRE(fd >= 3);
  SHOW(open("data.txt", O_RDWR | O_CREAT | O_EXCL, 0640));
  SHOW(write(fd, "hello, world\n", 13));
  SHOW(lseek(fd, 0, SEEK_CUR));
  SHOW(lseek(fd, -6, SEEK_END));
  printf("read: %s", text_of(read(fd, buffer, 100)));
  SHOW(read(fd, buffer, 100));
  SHOW(pwrite(fd, "HELLO", 5, 0));
  printf("pread: %s\n", text_of(pread(fd, buffer, 5, 0)));
  struct iovec out[3] = {{"one ", 4}, {"", 0}, {"two\n", 4}};
  SHOW(writev(fd, out, 3));
  char first[4] = {0}, second[8] = {0};
  struct iovec in[2] = {{first, 3}, {second, 7}};
  SHOW(lseek(fd, 0, SEEK_SET));
  SHOW(readv(fd, in, 2));
  printf("%s|%s\n", first, second);
  SHOW(ftruncate(fd, 5));
  SHOW(lseek(fd, 100, SEEK_SET));
  SHOW(write(fd, "x", 1));
  struct stat status;
  SHOW(fstat(fd, &status));
  printf("size %ld, mode %o, links %ld\n", (long)status.st_size, status.st_mode, (long)status.st_nlink);
  SHOW(lseek(fd, -1, SEEK_SET));
  SHOW(lseek(fd, 0, 99));
  SHOW(read(fd, nowhere, 10));
  SHOW(write(fd, nowhere, 10));
  SHOW(write(fd, NULL, 0));
  SHOW(close(fd));
  SHOW(close(fd));
  SHOW(read(fd, buffer, 1));
}

static void descriptors(void) {
  int fd = open("data.txt", O_WRONLY | O_APPEND);
  SHOW(read(fd, buffer, 1));
  SHOW(dup2(fd, 20));
  SHOW(dup2(20, 20));
  SHOW(dup2(99, 20));
  SHOW(dup3(fd, fd, 0));
  SHOW(fcntl(fd, F_DUPFD, 30));
  SHOW(fcntl(30, F_GETFD));
  SHOW(fcntl(30, F_SETFD, FD_CLOEXEC));
  SHOW(fcntl(30, F_GETFD));
  SHOW((fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND)) == (O_WRONLY | O_APPEND));
  SHOW(write(20, "appended", 8));
  SHOW(lseek(30, 0, SEEK_CUR));
  SHOW(close(20));
  SHOW(close(30));
  SHOW(isatty(fd));
  SHOW(close(fd));
}

static void pipes(void) {
  int ends[2];
  SHOW(pipe2(ends, O_NONBLOCK));
  struct pollfd poller = {ends[0], POLLIN, 0};
  struct timespec now = {0, 0};
  SHOW(ppoll(&poller, 1, &now, NULL));
  SHOW(read(ends[0], buffer, 10));
  SHOW(write(ends[1], "through", 7));
  SHOW(ppoll(&poller, 1, &now, NULL));
  int waiting = 0;
  SHOW(ioctl(ends[0], FIONREAD, &waiting));
  printf("waiting %d: %s\n", waiting, text_of(read(ends[0], buffer, 100)));
  SHOW(lseek(ends[0], 0, SEEK_SET));
  SHOW(close(ends[1]));
  SHOW(read(ends[0], buffer, 10));
  SHOW(close(ends[0]));
}

static void names(void) {
  struct stat status;
  SHOW(mkdir("dir", 0755));
  SHOW(mkdir("dir", 0755));
  SHOW(mkdir("none/dir", 0755));
  SHOW(open("dir", O_WRONLY));
  SHOW(open("none", O_RDONLY));
  SHOW(open("data.txt/x", O_RDONLY));
  SHOW(open("data.txt", O_RDONLY | O_DIRECTORY));
  SHOW(open("", O_RDONLY));
  SHOW(open(nowhere, O_RDONLY));
  SHOW(symlink("data.txt", "link"));
  SHOW(symlink("loop", "loop"));
  SHOW(open("loop", O_RDONLY));
  SHOW(open("link", O_RDONLY | O_NOFOLLOW));
  printf("readlink: %s\n", text_of(readlink("link", buffer, 200)));
  SHOW(readlink("data.txt", buffer, 200));
  SHOW(lstat("link", &status));
  printf("a link: %d\n", S_ISLNK(status.st_mode));
  SHOW(stat("link", &status));
  printf("a file: %d\n", S_ISREG(status.st_mode));
  SHOW(access("data.txt", R_OK | W_OK));
  SHOW(access("none", F_OK));
  SHOW(link("data.txt", "dir/hard"));
  SHOW(stat("dir/hard", &status));
  printf("links %ld\n", (long)status.st_nlink);
  SHOW(rename("dir/hard", "dir/renamed"));
  SHOW(rename("none", "dir/none"));
  SHOW(rmdir("dir"));
  SHOW(unlink("dir"));
  SHOW(chmod("dir/renamed", 0600));
  SHOW(truncate("dir/renamed", 3));
  struct timespec times[2] = {{1000, 5}, {2000, 7}};
  SHOW(utimensat(AT_FDCWD, "dir/renamed", times, 0));
  SHOW(stat("dir/renamed", &status));
  printf("changed at %ld.%09ld\n", (long)status.st_mtim.tv_sec, (long)status.st_mtim.tv_nsec);
  int folder = open("dir", O_RDONLY | O_DIRECTORY);
  SHOW(openat(folder, "none", O_RDONLY));
  SHOW(faccessat(folder, "renamed", F_OK, 0));
  SHOW(chdir("dir"));
  SHOW(access("renamed", F_OK));
  SHOW(access("../data.txt", F_OK));
  SHOW(fchdir(folder));
  SHOW(chdir(".."));
  SHOW(close(folder));
}

static int by_name(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

static void folders(void) {
  char* found[64];
  size_t count = 0;
  for (int i = 0; i < 40; i++) {
    snprintf(buffer, sizeof buffer, "dir/file-with-a-rather-long-name-%02d", i);
    int fd = open(buffer, O_WRONLY | O_CREAT, 0600);
    REQUIRE(fd >= 0 && close(fd) == 0);
  }
  DIR* dir = opendir("dir");
  REQUIRE(dir);
  for (struct dirent* entry; (entry = readdir(dir)) && count < 64;) {
    found[count++] = strcmp(entry->d_name, "..") ? strdup(entry->d_name) : "(parent)";
  }
  SHOW(closedir(dir));
  qsort(found, count, sizeof *found, by_name);
  for (size_t i = 0; i < count; i++) printf("%s\n", found[i]);
  for (int i = 0; i < 40; i += 2) {
    snprintf(buffer, sizeof buffer, "dir/file-with-a-rather-long-name-%02d", i);
    REQUIRE(unlink(buffer) == 0);
  }
}

static void standard_streams(void) {
  char line[100];
  while (fgets(line, sizeof line, stdin)) printf("stdin: %s", line);
  fprintf(stderr, "to stderr\n");
  FILE* file = fopen("numbers.txt", "w");
  REQUIRE(file);
  for (int i = 0; i < 5000; i++) fprintf(file, "%d %x\n", i, i * i);
  fclose(file);
  file = fopen("numbers.txt", "r");
  long sum = 0;
  int i;
  unsigned square;
  while (fscanf(file, "%d %x", &i, &square) == 2) sum += i ^ (long)square;
  printf("sum %ld at %ld\n", sum, ftell(file));
  fclose(file);
}

int main(void) {
  umask(022);
  reading_and_writing();
  descriptors();
  pipes();
  names();
  folders();
  standard_streams();
  return 0;
}
