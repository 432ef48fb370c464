// Several lanes at once over one root: an input is a list of calls for each of two to five lanes, which make them on
// threads of their own. Names race (rename, symlink, unlink, mkdir); mappings, segments, pipes and folders' streams
// come and go.
//
// Promised: nothing crashes or hangs; what lies beside the root, or in a folder that is hidden from guests, is neither
// read nor changed; a guest stays within its memory and its descriptors; the host has all of both back afterwards.
#include <malloc.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "input.h"
#include "linux/freestanding/abi.h"
#include "linux/freestanding/layout.h"
#include "linux/process.h"
#include "memory/address_space.h"
#include "surroundings.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#define KVRM_ALLOCATED __sanitizer_get_current_allocated_bytes()
// Freed memory is not kept back for long, so that what a guest holds can be told from it.
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=16"; }
#endif
#endif
#ifndef KVRM_ALLOCATED
#define KVRM_ALLOCATED ::mallinfo2().uordblks
#endif

namespace kvrm::fuzz {
namespace {

using linux_abi::Outcome;
using linux_abi::Process;

constexpr u64 kPage = memory::kPageSize;
constexpr u64 kPathsAt = 0x200000, kPathStride = 128;
constexpr u64 kBuffers = 0x210000, kBuffersSize = 0x8000;
constexpr u64 kArena = 0x10000000;
constexpr u64 kMemoryLimit = u64{8} << 20;
constexpr u64 kMostFiles = 24;
constexpr std::size_t kMostLanes = 5, kMostCalls = 96;
constexpr auto kPatience = std::chrono::milliseconds(10);
// A guest's account, as much again that is not on it (the first tables, files' buffers), and the host's own.
constexpr u64 kMostAllocated = 3 * kMemoryLimit;

// Names inside and outside; "hide/cache" is hidden from the guests of some inputs.
constexpr const char* kPaths[] = {"a",
                                  "b",
                                  "d",
                                  "d/e",
                                  "d/s",
                                  "d/s/t",
                                  "s",
                                  "s/t",
                                  "x",
                                  "x/y",
                                  "link",
                                  "link/y",
                                  "out",
                                  "far",
                                  "loop",
                                  "fifo",
                                  "../canary",
                                  "../canary.d",
                                  "../canary.d/inside",
                                  "../canary.fifo",
                                  "../canary.link",
                                  "d/../../canary",
                                  "d/s/../../../canary.d/inside",
                                  "x/../../canary",
                                  "x/inside",
                                  "link/inside",
                                  "../..",
                                  "../../..",
                                  "/",
                                  ".",
                                  "..",
                                  "",
                                  "/proc/self/maps",
                                  "/proc/self/exe",
                                  "/proc/self/fd/3",
                                  "/proc/self/root",
                                  "/dev/null",
                                  "/dev/zero",
                                  "hide",
                                  "hide/cache",
                                  "hide/cache/key",
                                  "hide/cache/new",
                                  "x/cache",
                                  "x/key",
                                  "s/key",
                                  "hide/../hide/cache"};

// A call and what each argument is, a letter each; see Lane::argument.
struct Template {
  u16 number;
  const char* arguments;
};
enum : u16 {
  kOpenat = 56,
  kFstat = 80,
  kNewfstatat = 79,
  kStatx = 291,
  kMmap = 222,
  kMremap = 216,
  kShmget = 194,
  kShmat = 196,
  kTouch = 1000,  // not a call: the guest writes to its memory
  kAny = 1001,    // any number, any arguments
};
constexpr Template kTemplates[] = {
    {kOpenat, "dpom"}, {kOpenat, "dpom"},  {kOpenat, "dpom"},  {kOpenat, "dpom"}, {57, "f"},
    {57, "f"},         {34, "dpm"},        {34, "dpm"},        {35, "dpu"},       {35, "dpu"},
    {36, "pdp"},       {36, "pdp"},        {36, "pdp"},        {37, "dpdpx"},     {38, "dpdp"},
    {38, "dpdp"},      {276, "dpdpn"},     {276, "dpdpn"},     {33, "dpk"},       {kNewfstatat, "dpbx"},
    {kStatx, "dpxwb"}, {kFstat, "fb"},     {78, "dpbs"},       {61, "fbs"},       {61, "fbs"},
    {63, "fbs"},       {64, "fbs"},        {67, "fbsz"},       {68, "fbsz"},      {62, "fsn"},
    {53, "dpm"},       {54, "dpzzx"},      {88, "dpzx"},       {45, "ps"},        {46, "fs"},
    {47, "fzzs"},      {48, "dpn"},        {49, "p"},          {50, "f"},         {17, "bs"},
    {43, "pb"},        {59, "bz"},         {59, "bz"},         {23, "f"},         {24, "ffz"},
    {25, "fns"},       {71, "ffzs"},       {73, "bnb"},        {kMmap, "alrgfq"}, {kMmap, "alrgfq"},
    {215, "al"},       {kMremap, "allva"}, {kMremap, "allva"}, {226, "alr"},      {233, "aln"},
    {214, "a"},        {232, "alb"},       {227, "aln"},       {kShmget, "kls"},  {kShmget, "klc"},
    {kShmat, "iaz"},   {kShmat, "iah"},    {197, "a"},         {195, "inb"},      {195, "izb"},
    {kTouch, "al"},    {kTouch, "al"},     {kTouch, "al"},     {kAny, "******"},  {kAny, "******"},
    {436, "ffz"},      {98, "bns"},        {32, "fn"},         {55, "fzz"},       {52, "fm"},
    {44, "fb"},        {163, "nb"},        {134, "nbbs"}};

// What was tried, told at the end.
struct Counts {
  std::atomic<u64> calls = 0, succeeded = 0, guests = 0, waits = 0;
  ~Counts() {
    std::fprintf(stderr, "lanes: %llu guests made %llu calls, %llu without an error; %llu waits\n", guests.load(),
                 calls.load(), succeeded.load(), waits.load());
  }
} counts;

bool is_error(u64 result) { return result > u64(i64{-4096}); }

// What all lanes of an input have in common.
struct Common {
  const Surroundings& surroundings;
  std::vector<std::string> paths;
  std::vector<std::string> hidden;
  std::atomic<bool> cancel = false;
};

class Lane {
 public:
  Lane(const Common& common, std::span<const u8> bytes) : common_(common), bytes_(bytes) { begin(); }

  // The whole list, so many times; a guest that ends is followed by a new one.
  void run(unsigned rounds) {
    for (unsigned round = 0; round < rounds; ++round) {
      input_ = Input(bytes_.data(), bytes_.size());
      for (std::size_t i = 0; i < kMostCalls && !input_.empty(); ++i) step();
    }
    promise_unread();
    process_.reset();
    space_.reset();
    KVRM_PROMISE(account_->used() == 0);
  }

 private:
  void begin() {
    process_.reset();
    space_.reset();
    if (account_) KVRM_PROMISE(account_->used() == 0);
    ++counts.guests;
    account_ = std::make_shared<memory::Account>(kMemoryLimit);
    space_ = std::make_unique<memory::AddressSpace>(account_);
    linux_abi::ProcessOptions options;
    options.args = {"guest"};
    options.root = common_.surroundings.root();
    options.hidden = common_.hidden;
    options.account = account_;
    options.memory_limit = kMemoryLimit;
    options.most_files = kMostFiles;
    options.stdin_fd = options.stdout_fd = options.stderr_fd = common_.surroundings.null();
    options.log = [](std::string_view) {};
    options.cancel = &common_.cancel;
    auto process = Process::create(std::move(options));
    KVRM_PROMISE(process.ok());
    process_.emplace(std::move(*process));
    constexpr u32 kBoth = memory::kRead | memory::kWrite;
    KVRM_PROMISE(space_->map(kPathsAt, kBuffers - kPathsAt, kBoth) && space_->map(kBuffers, kBuffersSize, kBoth));
    KVRM_PROMISE(space_->map(linux_abi::kStackBottom, linux_abi::kStackSize, kBoth));
    for (std::size_t i = 0; i < common_.paths.size(); ++i) {
      const std::string& path = common_.paths[i];
      KVRM_PROMISE(space_->poke(kPathsAt + i * kPathStride, path.c_str(), path.size() + 1));
    }
  }

  u64 argument(char kind) {
    static constexpr u32 kOpenFlags[] = {0,       1,       2,         0101,  0102,      01102,   0301,   040000,
                                         0102000, 0100000, 010000000, 04000, 020200002, 0140000, 040101, 02001};
    const auto code = input_.take<u8>();
    switch (kind) {
      case 'd': return code < 200 ? u64(i64{-100}) : code % 16;
      case 'p': return kPathsAt + code % common_.paths.size() * kPathStride;
      case 'o': return kOpenFlags[code % std::size(kOpenFlags)];
      case 'm': return code % 4 == 0 ? input_.take<u16>() & 07777 : 0755;
      case 'f': return code % 32;
      case 'b': return kBuffers + code % 16 * 0x400;
      case 's': return u64{1} << code % 20;
      case 'u': return code % 2 * 0x200;
      case 'x': return code % 2 == 0 ? 0 : code % 4 == 1 ? 0x100 : code % 8 == 3 ? 0x400 : 0x1000;
      case 'n': return code % 24;
      case 'k': return code % 3 == 0 ? 0 : code % 2 == 0 ? 0010644 : 0100644;
      case 'w': return 0xfff;
      case 'z': return 0;
      case 'q': return code % 4 * kPage;
      case 'a': return code < 128 ? recent_[code % recent_.size()] + code / 16 * kPage : kArena + code % 64 * kPage;
      case 'l': return code < 250 ? u64{code} % 24 * kPage : u64{1} << (20 + code % 8);
      case 'r': return code % 8;
      case 'g': return code % 4 == 0 ? 0x02 : code % 4 == 1 ? 0x32 : code % 4 == 2 ? 0x21 : 0x22;
      case 'v': return code % 8;
      case 'i': return segments_[code % segments_.size()];
      case 'h': return code % 2 * 040000;
      case 'c': return 01600;
      default: return any(code);
    }
  }
  u64 any(u8 code) {
    switch (code % 8) {
      case 0: return ~u64{0} >> code / 8;
      case 1: return kPathsAt + code / 8 * kPathStride;
      case 2: return kBuffers + u64{code} / 8 * 0x100;
      case 3: return input_.take<u16>();
      case 4: return input_.take<u64>();
      case 5: return recent_[code / 8 % recent_.size()];
      default: return code / 8;
    }
  }

  void step() {
    const Template& made = kTemplates[input_.take<u8>() % std::size(kTemplates)];
    cpu_.x[8] = made.number == kAny ? input_.take<u16>() % 512 : made.number;
    std::array<u64, 6> values{};
    for (std::size_t i = 0; made.arguments[i] != 0; ++i) values[i] = argument(made.arguments[i]);
    if (made.number == kTouch) return touch(values[0], values[1]);
    std::copy(values.begin(), values.end(), cpu_.x);
    cpu_.x[kSpSlot] = linux_abi::kStackTop - 0x1000;
    cpu_.pc = 0x400004;
    const Outcome outcome = process_->system_call(cpu_, *space_);
    KVRM_PROMISE(cpu_.x[kZeroSlot] == 0);
    KVRM_PROMISE(account_->used() <= kMemoryLimit && space_->private_bytes() <= kMemoryLimit);
    const bool waits = outcome.kind == Outcome::Kind::kCancelled;
    if (outcome.kind != Outcome::Kind::kContinue && !waits) {
      promise_unread();
      return begin();
    }
    ++counts.calls;
    counts.waits += waits;
    if (!waits && !is_error(cpu_.x[0])) succeeded(made.number, values, cpu_.x[0]);
  }

  void succeeded(u16 number, const std::array<u64, 6>& values, u64 result) {
    ++counts.succeeded;
    if (number == kMmap || number == kMremap || number == kShmat) recent_[next_recent_++ % recent_.size()] = result;
    if (number == kShmget) segments_[next_segment_++ % segments_.size()] = result;
    if (number == kFstat || number == kNewfstatat) {
      linux_abi::GuestStat stat{};
      if (!space_->read(values[number == kFstat ? 1 : 2], &stat, sizeof stat)) return;
      KVRM_PROMISE(!common_.surroundings.is_canary(stat.dev, stat.ino));
    }
  }

  // As a guest's stores would: what there is no memory for is not written.
  void touch(u64 address, u64 size) {
    for (u64 at = address; at < address + std::min(size, 32 * kPage); at += kPage)
      (void)space_->write(at, "touched", 8);
    KVRM_PROMISE(account_->used() <= kMemoryLimit);
  }

  void promise_unread() const {
    std::string bytes(kBuffersSize, '\0');
    for (u64 at = 0; at < kBuffersSize; at += kPage) (void)space_->peek(kBuffers + at, bytes.data() + at, kPage);
    KVRM_PROMISE(bytes.find(kWitness) == std::string::npos);
  }

  const Common& common_;
  const std::span<const u8> bytes_;
  Input input_{nullptr, 0};
  memory::AccountPointer account_;
  std::unique_ptr<memory::AddressSpace> space_;
  std::optional<Process> process_;
  Cpu cpu_{};
  std::array<u64, 8> recent_{kArena, kArena, kArena, kArena, kBuffers, kArena, kArena, kArena};
  std::array<u64, 4> segments_{};
  u64 next_recent_ = 0, next_segment_ = 0;
};

// Looks at the host while lanes run, and ends their waits.
class Watch {
 public:
  Watch(Common& common, std::size_t lanes) : common_(common), lanes_(lanes), thread_([this] { run(); }) {}
  ~Watch() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    const auto start = std::chrono::steady_clock::now();
    while (!changed_.wait_for(lock, std::chrono::milliseconds(2), [&] { return done_; })) {
      look();
      if (std::chrono::steady_clock::now() - start > kPatience) common_.cancel = true;
    }
  }
  void look() const {
    const std::string canary = common_.surroundings.folder() + "/canary";
    std::size_t open = 0;
    for (int fd = 0; fd < 1024; ++fd) {
      char name[4096];
      const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name, sizeof name);
      if (size <= 0) continue;
      ++open;
      KVRM_PROMISE(!std::string_view(name, static_cast<std::size_t>(size)).starts_with(canary));
    }
    // Beside what a guest holds: its root, its current folder, and what a call has open while it runs.
    KVRM_PROMISE(open <= 64 + lanes_ * (kMostFiles + 8));
    KVRM_PROMISE(KVRM_ALLOCATED <= allocated_ + (u64{64} << 20) + lanes_ * kMostAllocated);
  }

  Common& common_;
  const std::size_t lanes_;
  const u64 allocated_ = KVRM_ALLOCATED;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

// A folder below the root that is no guest's business.
class HiddenFolder {
 public:
  explicit HiddenFolder(const std::string& root) : folder_(root + "/hide/cache") {
    std::filesystem::create_directories(folder_);
    Surroundings::write(folder_ + "/key", std::string(kWitness) + ": hidden\n");
    inode_ = inode();
  }
  void promise_untouched() const {
    KVRM_PROMISE(inode() == inode_);
    std::size_t entries = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      ++entries;
      KVRM_PROMISE(entry.path().filename() == "key");
    }
    std::ifstream file(folder_ + "/key");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    KVRM_PROMISE(entries == 1 && text == std::string(kWitness) + ": hidden\n");
  }
  const std::string& folder() const { return folder_; }

 private:
  ino_t inode() const {
    struct stat found{};
    KVRM_PROMISE(::lstat(folder_.c_str(), &found) == 0 && S_ISDIR(found.st_mode));
    return found.st_ino;
  }
  const std::string folder_;
  ino_t inode_;
};

void run_lanes(Common& common, Input input, std::size_t lanes, unsigned rounds) {
  const std::span<const u8> bytes = input.rest();
  const std::size_t share = bytes.size() / lanes;
  const Watch watch(common, lanes);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < lanes; ++i) {
    const auto part = bytes.subspan(i * share, share);
    threads.emplace_back([&common, part, rounds] { Lane(common, part).run(rounds); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kvrm::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvrm::fuzz;
  static const Surroundings surroundings;
  static std::uint64_t inputs = 0, allocated = 0;
  Input input(data, size);
  const std::size_t lanes = 2 + input.take<std::uint8_t>() % (kMostLanes - 1);
  const unsigned rounds = 1 + input.take<std::uint8_t>() % 8;
  const auto options = input.take<std::uint8_t>();
  const bool hides = options % 2 != 0;
  surroundings.make_root();
  std::optional<HiddenFolder> hidden;
  if (hides) hidden.emplace(surroundings.root());
  const std::size_t open = open_descriptors();
  {
    Common common{surroundings, {std::begin(kPaths), std::end(kPaths)}, {}, {}};
    common.paths.push_back(surroundings.folder() + "/canary.d");
    common.paths.push_back(surroundings.folder() + "/canary.d/inside");
    if (hides) common.hidden.push_back(hidden->folder());
    common.cancel = options % 4 < 2;  // otherwise waits last until the watch ends them
    run_lanes(common, input, lanes, rounds);
  }
  surroundings.promise_untouched();
  if (hides) hidden->promise_untouched();
  KVRM_PROMISE(open_descriptors() == open);
  // The first inputs fill what the C library and libFuzzer keep.
  if (++inputs == 64) allocated = KVRM_ALLOCATED;
  if (inputs > 64) KVRM_PROMISE(KVRM_ALLOCATED <= allocated + (std::uint64_t{256} << 20));
  return 0;
}
