// How much of a program lanes run in regions as a GPU would have them, and why they leave: on simulated warps, with
// everything but the back end as it is there.
//
//   region_share PROGRAM [--warp-shift N] [--watch N] [--rounds N] [--run N] [--slice N] [--count] [--crowd]
//       [--input TEXT] [-- ARGS...]
//   region_share PROGRAM --inputs FILE     as many warps as the file has lines, each with a line for its input
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "lane_region_compiler.h"
#include "linux/elf.h"
#include "machine/cuda_processes.h"
#include "simulated_device.h"
#include "translator/gpu/compiler.h"

namespace kvrm::backend::test {
namespace {

struct Arguments {
  std::string program, input, inputs, ptx;
  std::vector<std::string> args;
  u32 shift = 0, rounds = 8, watched_slice = 61, slice = 65536;
  bool verbose = false, counts = false, crowded = false;
  u64 watch = 500'000, run = 20'000'000;
};

constexpr u32 kWindowShift = 26;
translator::LaneKind kind_of(const Arguments& a) {
  return {.alone = a.shift == 0, .window_shift = a.shift == 0 ? kWindowShift : 0};
}

void print(const SimulatedDevice& device, u64 retired) {
  u64 calls = 0;
  std::printf("%-18s %12s %10s %8s  left with\n", "entry", "retired", "calls", "a call");
  for (const SimulatedRegion& region : device.regions()) {
    calls += region.calls;
    if (region.calls == 0) continue;
    std::printf("%-18llx %12llu %10llu %8.0f ", region.entry_pc, region.retired, region.calls,
                double(region.retired) / double(region.calls));
    for (u32 i = 1; i < std::size(region.ends); ++i) {
      if (region.ends[i] != 0) std::printf(" trap %u: %llu", i, region.ends[i]);
    }
    std::printf(" not begun: %llu\n", region.unbegun);
  }
  const u64 inside = device.retired_in_regions();
  std::printf("%llu instructions on %u lanes, %.2f %% in regions, %.0f a call; %.2f calls and %.2f others in 1000\n",
              retired, device.lane_count(), 100.0 * double(inside) / double(retired),
              double(inside) / double(calls ? calls : 1), 1000.0 * double(calls) / double(retired),
              1000.0 * double(retired - inside) / double(retired));
}

void print(const LaneRegionCounts& counts, u64 retired) {
  const auto each = [&](u64 count) { return double(count) / double(retired ? retired : 1); };
  std::printf("for an instruction in regions: %.2f of LLVM's, %.3f conditional branches, %.3f loads, %.3f stores\n",
              each(counts.instructions), each(counts.branches), each(counts.loads), each(counts.stores));
}

// The words with the most samples, a line for each kind that is a count, in the order of interpreter::SampleKind.
void print_samples(const cuda::StartSet::SharedCode& code, std::span<const u32> samples) {
  constexpr u32 kShown = 12;
  constexpr const char* kNames[] = {"interpreted", "region exits", "fallbacks", "slice ends"};
  for (u32 number = 0; number < interpreter::kSampleCounts; ++number) {
    const u64 part = samples.size() / interpreter::kSampleKinds * number;
    std::vector<std::pair<u32, u64>> words;
    for (u64 i = 0; i < code.words.size(); ++i)
      words.emplace_back(samples[part + code.offset / 4 + i], code.start + i * 4);
    std::ranges::partial_sort(words, words.begin() + kShown, std::ranges::greater{});
    for (u32 i = 0; i < kShown; ++i) std::printf(" %llx:%u", words[i].second, words[i].first);
    std::printf(" %s\n", kNames[number]);
  }
}

std::vector<std::string> lines_of(const Arguments& a) {
  if (a.inputs.empty()) return {a.input};
  std::vector<std::string> lines;
  std::ifstream file(a.inputs);
  for (std::string line; std::getline(file, line);) lines.push_back(line + "\n");
  return lines;
}

int work(const Arguments& a) {
  const std::vector<std::string> inputs = lines_of(a);
  if (inputs.empty()) return std::fprintf(stderr, "%s: no lines\n", a.inputs.c_str()), 1;
  std::ifstream file(a.program, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  auto image = linux_abi::parse_elf({reinterpret_cast<const u8*>(bytes.data()), bytes.size()});
  if (!image) return std::fprintf(stderr, "%s\n", image.error().message.c_str()), 1;
  linux_abi::ProcessOptions options;
  options.args = {a.program};
  options.args.insert(options.args.end(), a.args.begin(), a.args.end());
  options.input = std::make_shared<std::string>(inputs[0]);
  options.output = options.errors = [](std::span<const u8>) {};
  auto program = load_lane_program(*image, options, u64{1} << 30);
  if (!program) return std::fprintf(stderr, "%s\n", program.error().message.c_str()), 1;

  const u32 groups = u32(inputs.size());
  SimulatedDevice device({.group_shift = a.shift,
                          .groups = groups,
                          .frames = 16384,
                          .tables = 1024 * groups,
                          .area_capacity = 256,
                          .most_window_shift = kWindowShift});
  cuda::StartSet starts;
  const u32 start = starts.add((*program)->contents);
  std::vector<SimulatedDevice::Job> jobs;
  for (u32 i = 0; i < device.lane_count(); ++i) jobs.push_back({start, inputs[i >> a.shift]});
  device.load(starts, std::move(jobs));
  const auto shared = starts.shared_code();
  const auto code = *std::ranges::max_element(shared, {}, [](const auto& c) { return c.words.size(); });
  device.install_regions(code, {});

  LaneProcesses processes;
  SimulatedDevice::Run run;
  run.crowded = a.crowded;
  run.serve = [&](const cuda::Call& call, Cpu& cpu, memory::GuestMemory& memory) {
    return processes.serve(call.request.job, call, cpu, memory, [&](u32) { return options; });
  };
  run.orders.assign(device.lane_count(), kernel::Order::kStart);
  const auto go = [&](u64 budget, u32 slice) {
    run.budget = budget;
    run.slice = slice;
    device.run(run);
    u64 retired = 0;
    for (u32 i = 0; i < device.lane_count(); ++i) {
      retired += device.end(i).retired;
      const bool more = device.end(i).stop.kind == kernel::StopKind::kBudget;
      run.orders[i] = more ? kernel::Order::kContinue : kernel::Order::kStayStopped;
    }
    return retired;
  };

  translator::GpuChoice choice({});
  const translator::SharedCode seen{code.start, code.words, u32(code.offset / 4)};
  LaneRegionCounts counts;
  LaneRegionCompiler compiler(a.counts ? &counts : nullptr);
  std::map<std::string, u64> made;
  for (u32 round = 0; round < a.rounds; ++round) {
    go(a.watch << round, round == 0 ? a.watched_slice : 4093);
    if (a.verbose) print_samples(code, device.samples());
    choice.choose(std::span(&seen, 1), device.samples(), round == 0 ? a.watched_slice : 4093, false);
    std::vector<SimulatedRegion> regions;
    for (const translator::GpuRegionEntry& entry : choice.entries()) {
      const auto& [plan, name] = choice.regions()[entry.region];
      if (!made.contains(name)) {
        made[name] = compiler.compile(plan, kind_of(a));
        std::printf("round %u: %s, %zu blocks, %u words, %zu entry points%s\n", round, name.c_str(), plan.blocks.size(),
                    plan.words, plan.entry_points.size(), plan.default_fp_mode ? ", default FP mode" : "");
      }
      if (made[name] != 0) regions.push_back({entry.pc, {}, made[name], plan.from(), plan.until(), entry.entry_point});
    }
    device.install_regions(code, std::move(regions));
  }
  if (!a.ptx.empty()) {
    std::string error;
    const auto gpu = translator::GpuCompiler::create(error);
    if (!gpu) return std::fprintf(stderr, "%s\n", error.c_str()), 1;
    std::ofstream(a.ptx) << gpu->compile(choice.regions(), kind_of(a)).ptx;
  }
  counts = {};
  print(device, go(a.run, a.slice));
  if (a.counts) print(counts, device.retired_in_regions());
  if (a.verbose) print_samples(code, device.samples());
  return 0;
}

}  // namespace
}  // namespace kvrm::backend::test

int main(int argc, char** argv) {
  kvrm::backend::test::Arguments a;
  CLI::App app("How much of a program runs in regions of a GPU, on simulated warps.", "region_share");
  app.add_option("program", a.program, "a static ARM64 program")->required();
  app.add_option("args", a.args, "its arguments");
  app.add_option("--input", a.input, "its standard input");
  app.add_option("--inputs", a.inputs, "a file: a warp for each line, which is its standard input")
      ->check(CLI::ExistingFile);
  app.add_option("--warp-shift", a.shift, "so many lanes, as a power of two")->capture_default_str();
  app.add_option("--watch", a.watch, "instructions before the first choice; each further one takes twice as many");
  app.add_option("--rounds", a.rounds, "choices")->capture_default_str();
  app.add_option("--run", a.run, "instructions that are counted")->capture_default_str();
  app.add_option("--watched-slice", a.watched_slice, "instructions of a time slice while the kernel samples");
  app.add_flag("--samples", a.verbose, "show where lanes were found");
  app.add_flag("--crowd", a.crowded, "with the interpreter's loop for many warps");
  app.add_flag("--count", a.counts, "count what the regions' code does");
  app.add_option("--slice", a.slice, "instructions of a time slice")->capture_default_str();
  app.add_option("--ptx", a.ptx, "write what a GPU would be given to this file");
  CLI11_PARSE(app, argc, argv);
  return kvrm::backend::test::work(a);
}
