// The module kvrm-mpi.so: ranks over MPI. Only the main thread talks to MPI; the work has a thread of its own.
#include <mpi.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "ranks.h"

namespace kvrm::cli {
namespace {

constexpr int kRecord = 1, kEnd = 2;  // message tags

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
  MPI_Send(message.data(), static_cast<int>(message.size()), MPI_CHAR, 0, tag, MPI_COMM_WORLD);
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
    std::string message(static_cast<std::size_t>(size), '\0');
    MPI_Recv(message.data(), size, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (status.MPI_TAG == kEnd) {
      --others;
    } else {
      write(unpack(message));
    }
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
    MPI_Bcast(list.data(), static_cast<int>(size), MPI_UINT64_T, 0, MPI_COMM_WORLD);
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
