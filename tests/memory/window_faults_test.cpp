// The handler serves faults of registered code in windows. All other signals go where they went before.
#include "memory/window_faults.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <vector>

#include "memory/window.h"

#if defined(__x86_64__)
namespace kvrm::memory {
namespace {

// A load of a byte with a landing of its own: what a code generator makes.
extern "C" i64 kvrm_test_load(const u8* address);
extern "C" const u8 kvrm_test_load_access[], kvrm_test_load_landing[], kvrm_test_load_end[];
asm(R"(
  .pushsection .text
  .globl kvrm_test_load
  .type kvrm_test_load, @function
kvrm_test_load:
  .globl kvrm_test_load_access
kvrm_test_load_access:
  movzbl (%rdi), %eax
  ret
  .globl kvrm_test_load_landing
kvrm_test_load_landing:
  movq $-1, %rax
  ret
  .globl kvrm_test_load_end
kvrm_test_load_end:
  .popsection
)");

struct Code {
  Code() { table.insert(kvrm_test_load_access, kvrm_test_load_landing); }
  LandingTable table;
  RegisteredCode registered{kvrm_test_load_access, kvrm_test_load_end, &LandingTable::find_landing, &table};
};

// How a child process ends that does this.
int status_of(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    work();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

#define KVRM_NEEDS(window) \
  if (!(window)) GTEST_SKIP() << "no window here"

TEST(WindowFaults, AFaultInAWindowLands) {
  const auto window = Window::reserve();
  KVRM_NEEDS(window);
  const Code code;
  ASSERT_TRUE(code.registered.is_registered());
  ASSERT_TRUE(window_faults_arrive());
  EXPECT_EQ(kvrm_test_load(window->at(0x1000)), -1);
  *window->open(0x1000) = 7;
  EXPECT_EQ(kvrm_test_load(window->at(0x1000)), 7);
  EXPECT_EQ(kvrm_test_load(window->at(Window::kBytes - 1)), -1);
  EXPECT_EQ(kvrm_test_load(window->at(Window::kBytes) + 100), -1);
  EXPECT_EQ(kvrm_test_load(window->at(0) - 1), -1);
}

TEST(WindowFaults, ManyThreadsAndAlternateStacks) {
  const auto window = Window::reserve();
  KVRM_NEEDS(window);
  const Code code;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      std::vector<char> stack(64 << 10);
      stack_t other{};
      other.ss_sp = stack.data();
      other.ss_size = stack.size();
      if (i % 2) ::sigaltstack(&other, nullptr);
      for (u64 k = 0; k < 2000; ++k) wrong += kvrm_test_load(window->at(k * 0x1000)) != -1;
      other.ss_flags = SS_DISABLE;
      ::sigaltstack(&other, nullptr);
    });
  }
  for (int i = 0; i < 200; ++i) {  // meanwhile others come and go
    LandingTable table;
    const RegisteredCode other(nullptr, reinterpret_cast<const void*>(~u64{0}), &LandingTable::find_landing, &table);
    for (u64 k = 1; k < 600; ++k) table.insert(reinterpret_cast<const void*>(k), &table);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(WindowFaults, ABlockedSignalIsUnblockedWhileCodeRuns) {
  const auto window = Window::reserve();
  KVRM_NEEDS(window);
  const Code code;
  std::thread([&] {
    sigset_t set, now;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    {
      const WindowFaultScope scope;
      EXPECT_EQ(kvrm_test_load(window->at(0x1000)), -1);
    }
    ::pthread_sigmask(SIG_BLOCK, nullptr, &now);
    EXPECT_EQ(sigismember(&now, SIGSEGV), 1);
  }).join();
}

TEST(WindowFaults, OtherFaultsEndTheProcessAsBefore) {
  const auto window = Window::reserve();
  KVRM_NEEDS(window);
  const Code code;
  const auto dies = [](int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV; };
#if !__has_feature(address_sanitizer)
  // Registered code outside windows, other code in a window, a signal that was sent.
  EXPECT_TRUE(dies(status_of([] { kvrm_test_load(nullptr); })));
  EXPECT_TRUE(dies(status_of([&] { *static_cast<volatile u8*>(window->at(0)) = 1; })));
  EXPECT_TRUE(dies(status_of([] { ::raise(SIGSEGV); })));
#else
  (void)dies;
#endif
  // A child has the handler and the window too.
  EXPECT_EQ(status_of([&] { ::_exit(kvrm_test_load(window->at(0)) == -1 ? 0 : 1); }), 0);
}

sigjmp_buf after_fault;
volatile sig_atomic_t faults_seen = 0;
void jump(int, siginfo_t* info, void*) {
  faults_seen = faults_seen + (info->si_signo == SIGSEGV);
  siglongjmp(after_fault, 1);
}
void jump_plainly(int) {
  faults_seen = faults_seen + 1;
  siglongjmp(after_fault, 1);
}

// In a process of its own, which has had no handler of ours yet.
void had_a_handler_before(int flags) {
  struct sigaction own{};
  if (flags & SA_SIGINFO) {
    own.sa_sigaction = &jump;
  } else {
    own.sa_handler = &jump_plainly;
  }
  own.sa_flags = flags;
  ::sigaction(SIGSEGV, &own, nullptr);
  const auto window = Window::reserve();
  if (!window) return;
  const Code code;
  for (int round = 0; round < 3; ++round) {
    if (kvrm_test_load(window->at(0x1000)) != -1) ::_exit(2);
    if (sigsetjmp(after_fault, 1) == 0) {
      kvrm_test_load(nullptr);
      ::_exit(3);
    }
    if (faults_seen != round + 1) ::_exit(4);
  }
}

TEST(WindowFaults, AHandlerThatWasThereBeforeGetsItsOwn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the child runs this program again
  for (const int flags : {0, SA_SIGINFO, SA_SIGINFO | SA_NODEFER}) {
    EXPECT_EXIT(
        {
          had_a_handler_before(flags);
          ::_exit(0);
        },
        testing::ExitedWithCode(0), "");
  }
}

TEST(WindowFaults, AHandlerThatWasInstalledLaterIsNoticed) {
  KVRM_NEEDS(Window::reserve());
  const Code code;
  ASSERT_TRUE(window_faults_arrive());
  struct sigaction own{}, before{};
  own.sa_handler = &jump_plainly;
  ::sigaction(SIGSEGV, &own, &before);
  EXPECT_FALSE(window_faults_arrive());
  ::sigaction(SIGSEGV, &before, nullptr);
  EXPECT_TRUE(window_faults_arrive());
}

TEST(WindowFaults, LandingsComeAndGo) {
  LandingTable table;
  const auto at = [](u64 number) { return reinterpret_cast<const void*>(number); };
  for (u64 round = 0; round < 20; ++round) {
    for (u64 i = 1; i <= 3000; ++i) table.insert(at(round * 10000 + i), at(i));
    for (u64 i = 1; i <= 3000; ++i) ASSERT_EQ(table.find(at(round * 10000 + i)), at(i));
    for (u64 i = 1; i <= 3000; ++i) table.erase(at(round * 10000 + i));
    for (u64 i = 1; i <= 3000; ++i) ASSERT_EQ(table.find(at(round * 10000 + i)), nullptr);
  }
}

}  // namespace
}  // namespace kvrm::memory
#endif
