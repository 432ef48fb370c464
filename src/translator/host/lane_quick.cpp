#include "translator/host/lane_quick.h"

#include <cstring>

#include "interpreter/predecode.h"

namespace kvrm::translator {
namespace {

constexpr u64 page_address(u64 pc) { return pc & ~(memory::kPageSize - 1); }

QuickPage::Words words_of(const u8* page) {
  QuickPage::Words words;
  static_assert(sizeof(words) == memory::kPageSize);
  std::memcpy(words.data(), page, sizeof(words));
  return words;
}

}  // namespace

// Null if the page is seen at several addresses: code is made for one.
LaneQuick::State* LaneQuick::state_of(u64 pc, const u8* page) {
  const u64 address = page_address(pc);
  const auto [found, is_new] = states_.emplace(page, State{address, nullptr});
  State& state = found->second;
  if (is_new && pages_->may_have(address)) {
    state.code = pages_->find(address, words_of(page), uses_window_);
    if (state.code) cache_.bind(page, address);
  }
  return state.address == address ? &state : nullptr;
}

bool LaneQuick::translate(State& state, const u8* page) {
  state.code = pages_->make(state.address, words_of(page), uses_window_);
  if (state.code) cache_.bind(page, state.address);
  return state.code != nullptr;
}

bool LaneQuick::translate_busy(State& state, const u8* page) {
  const double cost = pages_->seconds_a_page();
  if (!busy_ || earned_ < cost || !busy_->contains(state.address)) return false;
  earned_ -= cost;
  return translate(state, page);
}

void LaneQuick::use_window(bool uses_window) {
  if (!pages_) return;
  uses_window = uses_window && pages_->may_use_window();
  if (uses_window == uses_window_) return;
  uses_window_ = uses_window;
  for (const auto& [page, state] : states_)
    if (state.code) cache_.forget(page);
  states_.clear();
}

interpreter::Handler LaneQuick::handler_for(u64 pc, const u8* page) {
  if (!pages_) return nullptr;
  State* state = state_of(pc, page);
  if (!state) return nullptr;
  if (!state->code) {
    if (everything_ ? !translate(*state, page) : !translate_busy(*state, page)) return nullptr;
    if (!everything_) entered_.push_back(page);
  }
  return state->code->handler(static_cast<u32>(pc % memory::kPageSize / 4));
}

bool LaneQuick::has_code(u64 pc, const u8* page) const {
  const auto found = states_.find(page);
  if (found == states_.end() || !found->second.code || found->second.address != page_address(pc)) return false;
  return found->second.code->handler(static_cast<u32>(pc % memory::kPageSize / 4)) != nullptr;
}

void LaneQuick::interpreted(u64 pc, const u8* page, u64 times) {
  if (!pages_) return;
  State* state = state_of(pc, page);
  if (!state || state->code) return;
  state->unpaid += times;
  sampled_.push_back(page);
}

std::vector<const u8*> LaneQuick::take_due(double seconds_an_instruction) {
  std::vector<const u8*> due;
  for (const u8* page : sampled_) {
    const auto found = states_.find(page);
    if (found == states_.end() || found->second.code) continue;
    State& state = found->second;
    const bool is_paid = static_cast<double>(state.unpaid) * seconds_an_instruction >= pages_->seconds_a_page();
    if (is_paid) state.unpaid = 0;  // if there is no memory for it now, perhaps later
    if (is_paid ? translate(state, page) : translate_busy(state, page)) due.push_back(page);
  }
  sampled_.clear();
  // Some may be gone since.
  std::erase_if(entered_, [&](const u8* page) { return !states_.contains(page) || !states_.at(page).code; });
  due.insert(due.end(), entered_.begin(), entered_.end());
  entered_.clear();
  return due;
}

}  // namespace kvrm::translator
