// The module kvrm-mpi.so: ranks over MPI. Only the main thread talks to MPI; the work has a thread of its own.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "ranks.h"

namespace kvrm::cli {
namespace {

constexpr int kRecord = 1, kEnd = 2, kPart = 3;  // message tags; a record's last part is kRecord

// MPI counts in ints: what is longer goes in parts. The environment may make them small, to test that.
std::size_t most_bytes() {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  const char* text = std::getenv("KVRM_MPI_PART");
  const std::size_t asked = text ? std::strtoull(text, nullptr, 10) : 0;
  return asked != 0 ? std::min(asked, kMost) : kMost;
}

// Calls part(where it begins, how much it is) for all of them; at least one.
template <class Part>
void in_parts(std::size_t size, std::size_t most, const Part& part) {
  std::size_t at = 0;
  do {
    const std::size_t count = std::min(size - at, most);
    part(at, count);
    at += count;
  } while (at < size);
}

void put_text(std::string& message, const std::string& text) {
  const std::uint64_t size = text.size();
  message.append(reinterpret_cast<const char*>(&size), sizeof size);
  message += text;
}

std::string take_text(const std::string& message, std::size_t& at) {
  std::uint64_t size = 0;
  std::memcpy(&size, message.data() + at, sizeof size);
  at += sizeof size;
  std::string text = message.substr(at, size);
  at += size;
  return text;
}

std::string pack(const Record& record) {
  std::string message(reinterpret_cast<const char*>(&record.index), sizeof record.index);
  for (const std::string* text : {&record.ending, &record.line, &record.output}) put_text(message, *text);
  return message;
}

Record unpack(const std::string& message) {
  Record record;
  std::memcpy(&record.index, message.data(), sizeof record.index);
  std::size_t at = sizeof record.index;
  for (std::string* text : {&record.ending, &record.line, &record.output}) *text = take_text(message, at);
  return record;
}

// Records on their way from the thread that works to the one that sends.
class Queue {
 public:
  void put(Record&& record) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return records_.size() < kMost; });
    records_.push_back(std::move(record));
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  // No value: closed and empty.
  std::optional<Record> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !records_.empty(); });
    if (records_.empty()) return std::nullopt;
    Record record = std::move(records_.front());
    records_.pop_front();
    changed_.notify_all();
    return record;
  }

 private:
  static constexpr std::size_t kMost = 64;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Record> records_;
  bool closed_ = false;
};

void send(const std::string& message, int tag) {
  in_parts(message.size(), most_bytes(), [&](std::size_t at, std::size_t count) {
    const int part_tag = at + count == message.size() ? tag : kPart;
    MPI_Send(message.data() + at, static_cast<int>(count), MPI_CHAR, 0, part_tag, MPI_COMM_WORLD);
  });
}

void send_records(const std::function<void(const Ranks::Put&)>& work) {
  Queue queue;
  std::thread worker([&] {
    work([&](Record&& record) { queue.put(std::move(record)); });
    queue.close();
  });
  while (auto record = queue.take()) send(pack(*record), kRecord);
  worker.join();
  send({}, kEnd);
}

void receive_records(unsigned others, const Ranks::Put& write) {
  std::map<int, std::string> begun;  // by rank: the parts of a record that is not complete; MPI keeps their order
  while (others != 0) {
    MPI_Status status;
    int there = 0, size = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
    if (there == 0) {
      // A blocking probe would spin on a core that this rank's own lanes need.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    MPI_Get_count(&status, MPI_CHAR, &size);
    std::string& message = begun[status.MPI_SOURCE];
    const std::size_t at = message.size();
    message.resize(at + static_cast<std::size_t>(size));
    MPI_Recv(message.data() + at, size, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (status.MPI_TAG == kEnd) --others;
    if (status.MPI_TAG == kRecord) write(unpack(std::exchange(message, {})));
  }
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int provided = 0, rank = 0, size = 1;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rank_ = static_cast<unsigned>(rank);
    size_ = static_cast<unsigned>(size);
    uses_mpi_ = true;
  }
  ~MpiRanks() override { MPI_Finalize(); }

  bool agree(bool ready) override {
    int all = ready ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all != 0;
  }

  void share(std::vector<std::uint64_t>& list) override {
    std::uint64_t size = list.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    list.resize(size);
    const std::size_t most = std::max<std::size_t>(most_bytes() / sizeof(std::uint64_t), 1);
    in_parts(size, most, [&](std::size_t at, std::size_t count) {
      MPI_Bcast(list.data() + at, static_cast<int>(count), MPI_UINT64_T, 0, MPI_COMM_WORLD);
    });
  }

  void collect(const std::function<void(const Put&)>& work, const Put& write) override {
    if (!is_first()) return send_records(work);
    std::mutex mutex;
    const Put one_at_a_time = [&](Record&& record) {
      const std::lock_guard lock(mutex);
      write(std::move(record));
    };
    std::thread worker([&] { work(one_at_a_time); });
    receive_records(size_ - 1, one_at_a_time);
    worker.join();
  }
};

}  // namespace
}  // namespace kvrm::cli

extern "C" __attribute__((visibility("default"))) kvrm::cli::Ranks* kvrm_make_ranks() {
  return new kvrm::cli::MpiRanks();
}
