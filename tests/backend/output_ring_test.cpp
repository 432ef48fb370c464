// The output ring: nothing is lost, nothing is doubled, every job's bytes come in order, whatever the interleaving.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "backend/cuda/output_drain.h"
#include "simulated.h"

namespace kvrm::backend::test {
namespace {

using cuda::OutputDrain;
using kernel::OutputProgress;
using kernel::OutputRing;
using kernel::Stream;

// What a job writes: byte i of each of its streams is a function of job, stream and i.
u8 byte_of(u32 job, Stream stream, u64 index) {
  u64 x = (index + 1) * 0x9e3779b97f4a7c15 + job * 0xbf58476d1ce4e5b9 + u64(stream);
  x ^= x >> 29;
  return u8(x * 0x94d049bb133111eb >> 56);
}

u64 eight_bytes(u32 job, Stream stream, u64 index) {
  u64 word = 0;
  for (u64 i = 0; i < 8; ++i) word |= u64{byte_of(job, stream, index + i)} << (8 * i);
  return word;
}

// Checks what comes out.
class Expectation {
 public:
  OutputDrain::Sink sink() {
    return [this](u32 job, Stream stream, std::span<const u8> bytes) {
      u64& count = counts_[{job, stream}];
      for (const u8 byte : bytes) {
        if (byte != byte_of(job, stream, count++)) ++wrong_;
      }
    };
  }
  u64 count(u32 job, Stream stream) { return counts_[{job, stream}]; }
  u64 wrong() const { return wrong_; }

 private:
  std::map<std::pair<u32, Stream>, u64> counts_;
  u64 wrong_ = 0;
};

// A lane that makes `writes` writes of random sizes, one step at a time.
class Writer {
 public:
  Writer(u32 job, u32 writes, u64 largest, u64 seed) : job_(job), writes_(writes), largest_(largest), random_(seed) {}

  bool finished() const { return writes_ == 0; }
  u64 written(Stream stream) const { return written_[u32(stream)]; }

  // between() runs in the middle of a record, when some of it is stored.
  template <class Between>
  bool step(const OutputRing& ring, Between between) {
    if (finished() || busy_) return false;
    busy_ = true;
    if (!under_way_) {
      under_way_ = true;
      size_ = below(random_, largest_ + 1);
      stream_ = random_() & 1 ? Stream::kOut : Stream::kError;
    }
    const bool done = kernel::write_output(ring, job_, stream_, size_, progress_, [&](u64 offset) {
      between();
      return eight_bytes(job_, stream_, written(stream_) + offset);
    });
    if (done) {
      written_[u32(stream_)] += size_;
      under_way_ = false;
      --writes_;
    }
    busy_ = false;
    return done;
  }

 private:
  u32 job_, writes_;
  u64 largest_;
  Random random_;
  bool under_way_ = false, busy_ = false;
  u64 size_ = 0;
  Stream stream_ = Stream::kOut;
  OutputProgress progress_;
  u64 written_[3] = {};
};

void check_all(Expectation& seen, const std::vector<Writer>& writers) {
  EXPECT_EQ(seen.wrong(), 0u);
  for (u32 job = 0; job < writers.size(); ++job) {
    EXPECT_EQ(seen.count(job, Stream::kOut), writers[job].written(Stream::kOut)) << job;
    EXPECT_EQ(seen.count(job, Stream::kError), writers[job].written(Stream::kError)) << job;
  }
}

// One thread plays all lanes and the host. Lanes are also interrupted in the middle of a record, by others and by the
// host.
void interleave(u64 seed, u64 capacity, u64 most, u32 lanes, u64 largest) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  SimulatedRing memory(capacity, most);
  const OutputRing ring = memory.view();
  OutputDrain drain(ring);
  Expectation seen;
  std::vector<Writer> writers;
  for (u32 job = 0; job < lanes; ++job) writers.emplace_back(job, 1 + below(random, 12), largest, random());
  u32 depth = 0;
  bool draining = false;
  const std::function<void()> disturb = [&] {
    const u64 what = below(random, 16);
    if (what == 0 && !draining) {
      draining = true;
      drain.drain(seen.sink(), 1 + below(random, 4));
      draining = false;
    } else if (what == 1 && depth < 3) {
      ++depth;
      writers[below(random, lanes)].step(ring, disturb);
      --depth;
    }
  };
  u64 steps = 0;
  for (bool all = false; !all;) {
    ASSERT_LT(++steps, u64{4000000}) << "it does not get on";
    if (below(random, 4) == 0) drain.drain(seen.sink(), below(random, 3));
    writers[below(random, lanes)].step(ring, disturb);
    all = true;
    for (const Writer& writer : writers) all = all && writer.finished();
  }
  drain.drain(seen.sink());
  EXPECT_FALSE(drain.broken());
  EXPECT_EQ(drain.position(), memory.head());
  check_all(seen, writers);
}

TEST(OutputRing, RandomInterleavingsWithTinyRings) {
  for (u64 seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const u64 most = 16 * (1 + below(random, 8));
    const u64 capacity = most + 16 * (1 + below(random, 20));  // not a power of two, sometimes just one record
    interleave(seed, capacity, most, 1 + u32(below(random, 12)), 1 + below(random, 300));
  }
}

TEST(OutputRing, RandomInterleavingsWithManyLanes) {
  for (u64 seed = 1000; seed < 1010; ++seed) interleave(seed, 4096, 512, 200, 2000);
}

TEST(OutputRing, FullRingDelaysTheLaneOnly) {
  SimulatedRing memory(64, 32);  // one record of 32 bytes and its header, and 16 bytes more
  const OutputRing ring = memory.view();
  OutputDrain drain(ring);
  std::string out;
  const auto sink = [&](u32 job, Stream, std::span<const u8> bytes) {
    EXPECT_EQ(job, 7u);
    out.append(bytes.begin(), bytes.end());
  };
  const auto text = [](u64) { return u64{0x6867666564636261}; };
  OutputProgress first, second;
  EXPECT_TRUE(kernel::write_output(ring, 7, Stream::kOut, 30, first, text));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(kernel::write_output(ring, 7, Stream::kOut, 40, second, text));
  EXPECT_EQ(second.done, 0u);
  EXPECT_EQ(drain.drain(sink), 1u);
  EXPECT_EQ(out, "abcdefghabcdefghabcdefghabcdef");
  EXPECT_FALSE(kernel::write_output(ring, 7, Stream::kOut, 40, second, text));
  EXPECT_EQ(second.done, 32u);  // 32 of 40 are in
  EXPECT_FALSE(kernel::write_output(ring, 7, Stream::kOut, 40, second, text));
  EXPECT_EQ(drain.drain(sink), 1u);
  EXPECT_TRUE(kernel::write_output(ring, 7, Stream::kOut, 40, second, text));
  EXPECT_EQ(drain.drain(sink), 1u);
  EXPECT_EQ(out.size(), 70u);
  EXPECT_EQ(drain.drain(sink), 0u);
}

// A lane is in the middle of its record while another's, after it, is ready: the host must know that there is more.
TEST(OutputRing, EndTellsWhenTheHostHasEverything) {
  SimulatedRing memory(256, 32);
  const OutputRing ring = memory.view();
  OutputDrain drain(ring);
  std::string out;
  const auto sink = [&](u32 job, Stream, std::span<const u8>) { out += std::to_string(job); };
  OutputProgress slow, quick;
  EXPECT_TRUE(kernel::write_output(ring, 1, Stream::kOut, 8, slow, [&](u64) {
    EXPECT_TRUE(kernel::write_output(ring, 2, Stream::kOut, 20, quick, [](u64) { return u64{0}; }));
    EXPECT_EQ(drain.drain(sink), 0u);
    EXPECT_LT(drain.position(), quick.end);
    return u64{0};
  }));
  EXPECT_EQ(drain.drain(sink), 2u);
  EXPECT_EQ(drain.position(), quick.end);
  EXPECT_GT(drain.position(), slow.end);
  EXPECT_EQ(out, "12");
}

TEST(OutputRing, EmptyWriteIsDoneAtOnce) {
  SimulatedRing memory(64, 16);
  OutputProgress progress;
  EXPECT_TRUE(kernel::write_output(memory.view(), 1, Stream::kOut, 0, progress, [](u64) { return u64{0}; }));
  EXPECT_EQ(memory.head(), 0u);
}

TEST(OutputRing, DroppedTicketIsSkipped) {
  SimulatedRing memory(64, 32);
  const OutputRing ring = memory.view();
  OutputDrain drain(ring);
  u64 bytes_seen = 0;
  const auto sink = [&](u32, Stream, std::span<const u8> bytes) { bytes_seen += bytes.size(); };
  const auto zeros = [](u64) { return u64{0}; };
  OutputProgress first, second, third;
  EXPECT_TRUE(kernel::drop_output(ring, 32, first));  // there is none
  EXPECT_TRUE(kernel::write_output(ring, 1, Stream::kOut, 32, first, zeros));
  EXPECT_FALSE(kernel::write_output(ring, 2, Stream::kOut, 32, second, zeros));
  EXPECT_FALSE(kernel::write_output(ring, 3, Stream::kOut, 8, third, zeros));
  EXPECT_FALSE(kernel::drop_output(ring, 32, second));  // its range is not free yet
  EXPECT_EQ(drain.drain(sink), 1u);
  EXPECT_TRUE(kernel::drop_output(ring, 32, second));
  EXPECT_EQ(drain.drain(sink), 1u);
  EXPECT_TRUE(kernel::write_output(ring, 3, Stream::kOut, 8, third, zeros));
  EXPECT_EQ(drain.drain(sink), 1u);
  EXPECT_EQ(bytes_seen, 40u);
}

// A guest writes what looks like the headers of records of the next lap, at every offset.
TEST(OutputRing, PayloadThatImitatesRecordsIsPayload) {
  constexpr u64 kCapacity = 256;
  SimulatedRing memory(kCapacity, 48);
  const OutputRing ring = memory.view();
  OutputDrain drain(ring);
  u64 records = 0;
  const auto sink = [&](u32 job, Stream, std::span<const u8>) {
    EXPECT_EQ(job, 5u);
    ++records;
  };
  for (int round = 0; round < 200; ++round) {
    OutputProgress progress;
    const u64 size = 8 * (1 + u64(round) % 6);
    ASSERT_TRUE(kernel::write_output(ring, 5, Stream::kOut, size, progress, [&](u64 offset) {
      const u64 position = progress.ticket + 16 + offset;
      return position % 16 == 0 ? kernel::detail::ready_word(position + kCapacity)
                                : kernel::detail::record_header(6, Stream::kOut, 8);
    }));
    EXPECT_EQ(drain.drain(sink), 1u);
    EXPECT_EQ(drain.drain(sink), 0u);
    EXPECT_FALSE(drain.broken());
  }
  EXPECT_EQ(records, 200u);
}

TEST(OutputRing, InvalidRecordStopsTheDrain) {
  SimulatedRing memory(64, 16);
  const OutputRing ring = memory.view();
  OutputDrain drain(ring);
  ring.words[1] = kernel::detail::record_header(0, Stream::kOut, 17);
  ring.words[0] = kernel::detail::ready_word(0);
  EXPECT_EQ(drain.drain([](u32, Stream, std::span<const u8>) { FAIL(); }), 0u);
  EXPECT_TRUE(drain.broken());
}

TEST(OutputRing, ManyThreadsKeepTheirOrder) {
  constexpr u32 kThreads = 4, kLanes = 16;
  SimulatedRing memory(1024, 128);
  const OutputRing ring = memory.view();
  std::vector<Writer> writers;
  for (u32 job = 0; job < kThreads * kLanes; ++job) writers.emplace_back(job, 40, 400, job);
  std::atomic<u32> running{kThreads};
  std::vector<std::thread> threads;
  for (u32 t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Random random(t);
      for (u32 left = kLanes; left != 0;) {
        left = 0;
        u32 done = 0;
        for (u32 i = 0; i < kLanes; ++i) done += writers[t * kLanes + below(random, kLanes)].step(ring, [] {});
        if (done == 0) std::this_thread::yield();
        for (u32 i = 0; i < kLanes; ++i) left += !writers[t * kLanes + i].finished();
      }
      running.fetch_sub(1);
    });
  }
  OutputDrain drain(ring);
  Expectation seen;
  while (running.load() != 0) {
    if (drain.drain(seen.sink()) == 0) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  drain.drain(seen.sink());
  EXPECT_EQ(drain.position(), memory.head());
  check_all(seen, writers);
}

}  // namespace
}  // namespace kvrm::backend::test
