// Regions as handlers of the interpreter on this host. The interpreter dispatches to them as to any handler, and an
// exit dispatches to the handler at the next pc.
#pragma once

#include "interpreter/entry.h"
#include "translator/frame.h"

namespace kvrm::translator {

class HostFrame final : public Frame {
 public:
  HostFrame(std::string cpu, std::string features) : cpu_name_(std::move(cpu)), features_(std::move(features)) {}

  u64 budget_per_instruction() const override;
  u64 least_budget(u32 words) const override;
  FrameStart begin(llvm::Module& module, llvm::IRBuilder<>& builder, const std::string& name,
                   const Plan& plan) override;
  u64 links_size() const override;
  void fill_links(llvm::IRBuilder<>& builder, llvm::Value* links, u32 number) override;
  llvm::Value* home(llvm::IRBuilder<>& builder, u64 offset) override;
  void leave_to(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget) override;
  void leave_to_register(llvm::IRBuilder<>& builder, llvm::Value* pc, llvm::Value* budget) override;
  void pause(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget) override;
  void trap(llvm::IRBuilder<>& builder, u64 pc, llvm::Value* budget, llvm::Value* trap) override;

 private:
  llvm::FunctionType* handler_type(llvm::IRBuilder<>& builder) const;
  llvm::Function* handler(const char* name);
  llvm::Argument* argument(interpreter::HandlerArgument which) const;
  // Tail-calls a handler with its entry and the last argument.
  void go_on(llvm::IRBuilder<>& builder, llvm::Value* handler, llvm::Value* entry, llvm::Value* last);
  // Continues with the handler of another entry of the same page.
  void go_on_at(llvm::IRBuilder<>& builder, llvm::Value* entry, llvm::Value* budget);
  // Continues in the page of this address if it was entered lately; otherwise the host looks it up.
  void go_on_in_page(llvm::IRBuilder<>& builder, llvm::Value* pc, llvm::Value* budget);
  // Continues with another handler of the same entry unless the condition holds.
  void require(llvm::IRBuilder<>& builder, llvm::Value* condition, const char* otherwise);
  void set_pc(llvm::IRBuilder<>& builder, llvm::Value* pc);

  const std::string cpu_name_, features_;
  llvm::Module* module_ = nullptr;
  llvm::Function* function_ = nullptr;
  u64 entry_pc_ = 0;
  bool uses_window_ = false;
};

}  // namespace kvrm::translator
