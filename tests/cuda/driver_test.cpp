// The driver's wrappers, without a GPU: what is missing is said in one line, and what fails fails cleanly.
#include "backend/cuda/driver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <numeric>

#include "fake_cuda.h"

namespace kvrm::backend::cuda {
namespace {

void expect_line(const Error& error, std::initializer_list<const char*> words) {
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
  for (const char* word : words) EXPECT_NE(error.message.find(word), std::string::npos) << error.message;
}

class FakeDriver : public testing::Test {
 protected:
  void SetUp() override {
    void* library = dlopen(KVRM_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto find = reinterpret_cast<FakeStateFunction>(dlsym(library, kFakeStateFunction));
    ASSERT_NE(find, nullptr);
    state_ = find();
    *state_ = FakeState{};
  }
  void TearDown() override { EXPECT_EQ(state_->live, 0) << "something was not released"; }

  Result<ContextPointer> context(int ordinal = 0) {
    auto driver = Driver::open(KVRM_FAKE_CUDA);
    if (!driver) return driver.error();
    return Context::open(*driver, ordinal);
  }
  Error opening_error(int ordinal = 0) {
    auto opened = context(ordinal);
    EXPECT_FALSE(opened.ok());
    return opened ? Error{} : opened.error();
  }

  FakeState* state_ = nullptr;
};

TEST(Driver, MissingLibraryIsOneLine) {
  auto driver = Driver::open("libno_such_driver.so.1");
  ASSERT_FALSE(driver.ok());
  expect_line(driver.error(), {"no NVIDIA driver", "libno_such_driver.so.1", "install", "device=cpu"});
}

TEST(Driver, RefusesAnotherLibrary) {
  auto driver = Driver::open("libm.so.6");
  ASSERT_FALSE(driver.ok());
  expect_line(driver.error(), {"libm.so.6", "not NVIDIA's driver"});
}

TEST(Driver, NamesTheMissingCall) {
  auto driver = Driver::open(KVRM_PARTIAL_CUDA);
  ASSERT_FALSE(driver.ok());
  expect_line(driver.error(), {"too old", "cuInit", "12.0"});
}

TEST(Driver, InstanceIsTheSameForTheProcess) {
  auto first = Driver::instance();
  auto second = Driver::instance();
  ASSERT_EQ(first.ok(), second.ok());
  if (first) {
    EXPECT_EQ(*first, *second);
  } else {
    EXPECT_EQ(first.error().message, second.error().message);
  }
}

TEST(Driver, TextsAreReadable) {
  EXPECT_EQ(version_text(12040), "12.4");
  EXPECT_EQ(version_text(13000), "13.0");
  EXPECT_EQ(size_text(512), "512 bytes");
  EXPECT_EQ(size_text(std::uint64_t{64} << 30), "64.0 GiB");
  EXPECT_EQ(size_text(3 << 19), "1.5 MiB");
}

TEST_F(FakeDriver, TooOld) {
  state_->version = 11080;
  expect_line(opening_error(), {"too old", "11.8", "12.0"});
}

TEST_F(FakeDriver, NoDevice) {
  state_->init = Code::kNoDevice;
  expect_line(opening_error(), {"no NVIDIA GPU", "nvidia-smi"});
  state_->init = Code::kSuccess;
  state_->devices = 0;
  expect_line(opening_error(), {"no NVIDIA GPU"});
}

TEST_F(FakeDriver, ReasonsNotToStart) {
  state_->init = Code::kStubLibrary;
  expect_line(opening_error(), {"stub"});
  state_->init = Code::kSystemDriverMismatch;
  expect_line(opening_error(), {"different versions"});
  state_->init = Code::kUnknown;
  expect_line(opening_error(), {"starting the NVIDIA driver", "999"});
}

TEST_F(FakeDriver, NoSuchDevice) {
  state_->devices = 2;
  expect_line(opening_error(2), {"no GPU number 2", "0 to 1"});
  expect_line(opening_error(-1), {"no GPU number -1"});
}

TEST_F(FakeDriver, ComputeCapabilityTooLow) {
  state_->compute = 75;
  expect_line(opening_error(), {"Fake GPU", "7.5", "8.0"});
}

TEST_F(FakeDriver, DeviceInUseIsOneLine) {
  state_->retain = Code::kDeviceUnavailable;
  expect_line(opening_error(), {"another process"});
}

TEST_F(FakeDriver, Properties) {
  auto opened = context();
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const Properties& device = (*opened)->properties();
  EXPECT_EQ(device.name, "Fake GPU");
  EXPECT_EQ(device.compute(), 90);
  EXPECT_EQ(device.multiprocessors, 132);
  EXPECT_EQ(device.memory, std::uint64_t{16} << 30);
  EXPECT_EQ(device.driver_version, 12040);
  EXPECT_FALSE(device.limits_kernel_time);
}

TEST_F(FakeDriver, OutOfMemorySaysHowMuch) {
  auto opened = context();
  ASSERT_TRUE(opened.ok());
  state_->free = std::size_t{3} << 30;
  auto buffer = DeviceBuffer::allocate(*opened, std::size_t{64} << 30, "the page pool");
  ASSERT_FALSE(buffer.ok());
  expect_line(buffer.error(), {"out of GPU memory", "the page pool", "64.0 GiB", "3.0 GiB of 16.0 GiB", "GPU 0"});
  auto pinned = PinnedBuffer::allocate(*opened, std::size_t{64} << 30, "the mailbox");
  ASSERT_FALSE(pinned.ok());
  expect_line(pinned.error(), {"out of memory", "64.0 GiB", "pinned", "the mailbox"});
}

TEST_F(FakeDriver, BuffersAndCopies) {
  auto opened = context();
  ASSERT_TRUE(opened.ok());
  auto stream = Stream::create(*opened);
  ASSERT_TRUE(stream.ok());
  auto first = DeviceBuffer::allocate(*opened, 4096);
  auto second = DeviceBuffer::allocate(*opened, 4096);
  auto pinned = PinnedBuffer::allocate(*opened, 4096);
  ASSERT_TRUE(first.ok() && second.ok() && pinned.ok());
  EXPECT_EQ(pinned->as<unsigned char>()[4095], 0);  // the fake's memory is not zero
  EXPECT_NE(pinned->address(), 0U);

  std::vector<unsigned char> bytes(4096);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
  EXPECT_TRUE(stream->upload(first->address(), bytes.data(), bytes.size()).ok());
  EXPECT_TRUE(stream->copy(second->address(), first->address(), bytes.size()).ok());
  EXPECT_TRUE(stream->fill(second->address(), 9, 16).ok());
  EXPECT_TRUE(stream->download(pinned->host(), second->address(), bytes.size()).ok());
  EXPECT_TRUE(stream->wait().ok());
  EXPECT_EQ(pinned->as<unsigned char>()[15], 9);
  EXPECT_EQ(pinned->as<unsigned char>()[16], 17);

  DeviceBuffer moved = *std::move(first);
  moved = *std::move(second);  // gives the first one back
  DeviceBuffer empty = *DeviceBuffer::allocate(*opened, 0);
  EXPECT_EQ(empty.address(), 0U);
  EXPECT_TRUE(stream->upload(empty.address(), nullptr, 0).ok());
}

TEST_F(FakeDriver, ModulesAndLaunches) {
  auto opened = context();
  ASSERT_TRUE(opened.ok());
  const std::byte image[] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  auto stream = Stream::create(*opened);
  auto buffer = DeviceBuffer::allocate(*opened, 4);
  ASSERT_TRUE(stream.ok() && buffer.ok());
  auto function = [&] {
    auto module = Module::load(*opened, image);
    EXPECT_TRUE(module.ok());
    expect_line(module->function("missing").error(), {"missing"});
    EXPECT_EQ(module->global("counter")->size, 8U);
    return module->function("kernel");
  }();  // the function keeps the module
  ASSERT_TRUE(function.ok());
  EXPECT_EQ(function->attributes()->registers, static_cast<int>(FunctionAttribute::kRegisters));
  EXPECT_EQ(*function->blocks_per_multiprocessor(256, 0), 8);
  EXPECT_TRUE(function->set_dynamic_shared(200 << 10).ok());
  expect_line(function->set_dynamic_shared(1 << 20).error(), {"kernel", "1.0 MiB", "227.0 KiB"});

  EXPECT_TRUE(function->launch(*stream, {.grid = 132, .block = 256}, 42, buffer->address()).ok());
  EXPECT_EQ(state_->launched_grid, 132U);
  int value = 0;
  EXPECT_TRUE(stream->download(&value, buffer->address(), sizeof value).ok());
  EXPECT_EQ(value, 42);
  state_->launch = Code::kLaunchOutOfResources;
  expect_line(function->launch(*stream, {}, 42, buffer->address()).error(), {"registers or shared memory"});
}

TEST_F(FakeDriver, LostDevice) {
  auto opened = context();
  ASSERT_TRUE(opened.ok());
  auto stream = Stream::create(*opened);
  ASSERT_TRUE(stream.ok());
  state_->stream = Code::kIllegalAddress;
  expect_line(stream->done().error(), {"the GPU failed", "CUDA_ERROR_ILLEGAL_ADDRESS", "start again"});
  expect_line(stream->wait().error(), {"the GPU failed"});
  expect_line(stream->wait_for(std::chrono::seconds(1)).error(), {"the GPU failed"});
  expect_line((*opened)->wait().error(), {"the GPU failed"});
  state_->stream = Code::kEccUncorrectable;
  expect_line(stream->done().error(), {"the GPU failed", "214"});
  state_->stream = Code::kLaunchTimeout;
  expect_line(stream->done().error(), {"longer than the driver allows"});
}

TEST_F(FakeDriver, WaitForReturnsInTime) {
  auto opened = context();
  ASSERT_TRUE(opened.ok());
  auto stream = Stream::create(*opened);
  auto event = Event::create(*opened);
  ASSERT_TRUE(stream.ok() && event.ok());
  EXPECT_TRUE(event->record(*stream).ok());
  state_->stream = Code::kNotReady;
  EXPECT_FALSE(*stream->done());
  EXPECT_FALSE(*event->done());
  EXPECT_FALSE(*stream->wait_for(std::chrono::milliseconds(5)));
  state_->stream = Code::kSuccess;
  EXPECT_TRUE(*stream->wait_for(std::chrono::seconds(0)));
  EXPECT_TRUE(*event->done());
  EXPECT_DOUBLE_EQ(*event->seconds_since(*event), 0.25);
}

TEST_F(FakeDriver, CompilerErrorsCarryTheLog) {
  auto opened = context();
  ASSERT_TRUE(opened.ok());
  static constexpr char kText[] = ".version 7.8";
  const auto ptx = std::as_bytes(std::span(kText)).first(sizeof kText - 1);
  EXPECT_TRUE(compile_ptx(**opened, ptx).ok());
  state_->link = Code::kInvalidPtx;
  expect_line(compile_ptx(**opened, ptx).error(), {"compiling the GPU code", "ptxas fatal: no"});
  state_->link = Code::kJitCompilerNotFound;
  expect_line(compile_ptx(**opened, ptx).error(), {"libnvidia-ptxjitcompiler"});
}

}  // namespace
}  // namespace kvrm::backend::cuda
