#include "records.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "endings.h"
#include "formatted.h"
#include "json_text.h"
#include "results_header.h"
#include "streams.h"

namespace kvrm::cli {
namespace {

using nlohmann::ordered_json;

void put_bytes(ordered_json& record, const std::string& name, const std::string& bytes, bool cut) {
  if (is_utf8(bytes)) {
    record[name] = bytes;
  } else {
    record[name + "_base64"] = base64(bytes);
  }
  if (cut) record[name + "_cut"] = true;
}

Error system_error(const std::string& path, int error = errno) { return Error{path + ": " + std::strerror(error)}; }

bool is_record(const ordered_json& json) {
  return json.is_object() && json.contains("index") && json["index"].is_number_unsigned() && json.contains("name") &&
         json["name"].is_string();
}

// Under a name of its own first: whatever has the file's name now (a link, a pipe) is replaced, not opened, and a file
// that is there is whole.
Result<void> write_file(const std::filesystem::path& path, const std::string& bytes) {
  const std::string part = path.parent_path() / ("." + path.filename().string() + ".part");
  (void)::unlink(part.c_str());  // of a run that was killed
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return system_error(part);
  int error = write_all(fd, bytes);
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(part.c_str(), path.c_str()) == 0) return {};
  if (error == 0) error = errno;
  (void)::unlink(part.c_str());
  return system_error(path.string(), error);
}

// To a pipe, in pieces that it takes at once when it is ready. A reader that takes nothing must not keep an interrupted
// fleet from ending. 0 or an errno.
int write_stream(int fd, std::string_view bytes, const std::function<bool()>& interrupted) {
  constexpr int kPatienceMs = 1000;
  while (!bytes.empty()) {
    pollfd one{fd, POLLOUT, 0};
    const int ready = ::poll(&one, 1, kPatienceMs);
    if (ready < 0 && errno != EINTR) return errno;
    if (ready == 0 && interrupted()) return ECANCELED;
    if (ready <= 0) continue;
    const std::string_view piece = bytes.substr(0, PIPE_BUF);
    if (const int error = write_all(fd, piece)) return error;
    bytes.remove_prefix(piece.size());
  }
  return 0;
}

}  // namespace

std::string output_name(std::uint64_t index) { return formatted("{:06}.out", index); }

Record make_record(const JobResult& result, const Input& input, bool output_in_file) {
  ordered_json json = {{"index", result.index}, {"name", input.name}};
  Record record{result.index, ending_of(result), {}, {}};
  if (!result.error.empty()) {
    json["error"] = result.error;
  } else {
    const Stop& stop = result.stop;
    json["stop"] = to_string(stop.reason);
    if (stop.reason == StopReason::kExit) json["exit_status"] = stop.exit_status;
    if (stop.reason == StopReason::kSignal) json["signal"] = stop.signal;
    if (!stop.message.empty()) json["error"] = stop.message;
    json["instructions"] = result.stop.instructions;
    if (output_in_file) {
      json["stdout_file"] = output_name(result.index);
      if (result.output_cut) json["stdout_cut"] = true;
      record.output = result.output;
    } else {
      put_bytes(json, "stdout", result.output, result.output_cut);
    }
    if (!result.errors.empty()) put_bytes(json, "stderr", result.errors, result.errors_cut);
  }
  record.line = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  return record;
}

ResultsFile::ResultsFile(ResultsFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      stdout_dir_(std::move(other.stdout_dir_)),
      header_(std::move(other.header_)),
      done_(std::move(other.done_)),
      is_stream_(other.is_stream_),
      error_(other.error_) {}

ResultsFile::~ResultsFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<ResultsFile> ResultsFile::open(const std::string& path, const std::string& stdout_dir,
                                      const std::vector<Input>& inputs, const ResultsHeader& header, bool resume) {
  ResultsFile file;
  file.path_ = path;
  file.stdout_dir_ = stdout_dir;
  if (!stdout_dir.empty()) {
    std::error_code error;
    std::filesystem::create_directories(stdout_dir, error);
    if (error) return Error{stdout_dir + ": " + error.message()};
  }
  struct stat info{};
  if (path == "-" || (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))) {
    if (resume) return Error{(path == "-" ? "stdout" : path) + ": --resume needs a file with earlier results"};
    if (auto opened = file.open_stream(); !opened) return opened.error();
    return file;
  }
  file.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file.fd_ < 0) return system_error(path);
  if (::flock(file.fd_, LOCK_EX | LOCK_NB) != 0) return Error{path + ": another fleet is writing to it"};
  if (::fstat(file.fd_, &info) != 0) return system_error(path);
  if (info.st_size != 0) {
    if (!resume) return Error{path + ": is there already; --resume goes on with it"};
    if (auto read = file.read_earlier(inputs, header); !read) return read.error();
    if (::fstat(file.fd_, &info) != 0) return system_error(path);
  }
  if (info.st_size == 0) file.header_ = header.line();
  return file;
}

// Not for reading too: a pipe opened so would never lose its last reader.
Result<void> ResultsFile::open_stream() {
  is_stream_ = true;
  const bool is_stdout = path_ == "-";
  if (is_stdout) path_ = "stdout";
  fd_ = is_stdout ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  return fd_ < 0 ? system_error(path_) : Result<void>();
}

Result<void> ResultsFile::read_earlier(const std::vector<Input>& inputs, const ResultsHeader& header) {
  auto bytes = read_all(fd_, std::numeric_limits<std::uint64_t>::max(), path_);
  if (!bytes) return bytes.error();
  std::vector<bool> seen(inputs.size());
  const char* const begin = bytes->data();
  const char* const end = begin + bytes->size();
  const char* at = begin;
  bool has_header = false;
  for (std::size_t number = 1; at != end; ++number) {
    const auto* newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (!newline) break;  // torn
    const auto json = ordered_json::parse(at, newline, nullptr, false);
    if (number == 1 && ResultsHeader::is_header(json)) {
      has_header = true;
      if (const std::string what = header.difference(json); !what.empty()) {
        return Error{formatted("{}: belongs to another run: {}", path_, what)};
      }
      at = newline + 1;
      continue;
    }
    if (!is_record(json)) {
      if (newline + 1 == end) break;  // a last line whose start was lost
      return Error{formatted("{}:{}: is no record of a fleet", path_, number)};
    }
    const auto index = json["index"].get<std::uint64_t>();
    if (index >= inputs.size() || json["name"].get<std::string>() != inputs[index].name) {
      return Error{formatted("{}:{}: belongs to other inputs than these", path_, number)};
    }
    if (!seen[index]) done_.push_back(index);
    seen[index] = true;
    at = newline + 1;
  }
  if (at != end && ::ftruncate(fd_, at - begin) != 0) return system_error(path_);
  if (at != begin && !has_header) {
    say("kvrm: {}: does not say which program it belongs to; the inputs' names are the same\n", path_);
  }
  return {};
}

Result<void> ResultsFile::write(const Record& record, const std::function<bool()>& interrupted) {
  if (!stdout_dir_.empty()) {
    const auto path = std::filesystem::path(stdout_dir_) / output_name(record.index);
    if (auto written = write_file(path, record.output); !written) return written;
  }
  // The header and its record in one piece: a file is empty, or says what it belongs to.
  const std::string text = std::exchange(header_, {}) + record.line;
  error_ = is_stream_ ? write_stream(fd_, text, interrupted) : write_all(fd_, text);
  return error_ == 0 ? Result<void>() : system_error(path_, error_);
}

}  // namespace kvrm::cli
