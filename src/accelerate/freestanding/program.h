// A proven loop in the form that the executor runs (round.h). Made by the prover, verified by the checker.
#pragma once

#include "accelerate/freestanding/expression.h"
#include "accelerate/freestanding/native_round.h"

namespace kvrm::accelerate {

inline constexpr u16 kNoNode = 0xffff;

// A load or a store of 1, 2, 4 or 8 bytes.
struct Access {
  bool is_store = false;
  u8 size = 8;
  u16 address = 0;  // nodes
  u16 value = 0;    // what is stored; of a load, its node
  u16 conditions_before = 0;  // how many conditions are decided before it
  u16 guard = kNoNode;  // it happens where this is 1; none: always
  friend bool operator==(const Access&, const Access&) = default;
};

struct Output {
  u16 offset = 0;  // in Cpu
  u8 size = 8;
  u16 node = 0;
  friend bool operator==(const Output&, const Output&) = default;
};

// How a node's value changes from iteration to iteration.
enum class Shape : u8 {
  kInvariant,
  kAffine,   // a + i * step
  kVarying,  // its column is computed
  kLast,     // known before and after a bulk step only
};

// How a part of the state that an iteration reads and writes changes.
enum class Carry : u8 {
  kAffine,     // after = before + step
  kLinear,     // after = an invariant plus a sum of invariants times the linear parts before
  kReduction,  // after = op(before, term)
  kLatch,      // after = the term where the condition holds, else before
  kPrevious,   // after = something that does not depend on it: an iteration sees its predecessor's
};

struct Carried {
  Carry carry = Carry::kAffine;
  u8 width = 64;     // 32: the upper half is zero after an iteration
  u16 input = 0;     // the node before
  u16 output = 0;    // index of the output
  u16 term = kNoNode;  // kAffine: the step, an invariant; kReduction: what is folded in; kPrevious: the value
  bool subtracts = false;  // kAffine: the step is minus the term; of a minimum: it is a maximum; kLatch: where it is 0
  Op op = Op::kAdd;  // kReduction; kLess and kLessSigned: the lesser one
  u16 condition = kNoNode;  // kLatch
  friend bool operator==(const Carried&, const Carried&) = default;
};

enum class Kind : u8 { kCounted, kFill, kCopy, kScan, kReduction, kMap };

// What may be done to whole ranges at once.
enum class Bulk : u8 { kNone, kFill, kCopy, kScan };

// One compare that ends the loop and whose operands are affine.
struct Test {
  Op op = Op::kNotEqual;
  u16 a = 0, b = 0;
  bool inverted = false;
  friend bool operator==(const Test&, const Test&) = default;
};

// A load from `base`, an invariant, plus an index of at most `span`: all it may load can be known before.
struct Table {
  u16 access = 0, base = 0, index = 0;
  u32 span = 0;
  friend bool operator==(const Table&, const Table&) = default;
};

template <class T>
struct List {
  const T* first = nullptr;
  u16 count = 0;
  const T* begin() const { return first; }
  const T* end() const { return first + count; }
  const T& operator[](u32 i) const { return first[i]; }
};

// What a program asks of its executor beyond nodes, accesses and recurrences that are the same in each iteration. One
// that does not know a feature must not run the program.
enum Feature : u32 {
  kGuards = 1,  // Access::guard
  kVaryingLength = 2,  // LoopProgram::length
  kLatches = 4,  // Carry::kLatch
  kNarrowInputs = 8,  // LoopProgram::narrow
  kAlignedSteps = 16,  // LoopProgram::aligned
};

struct LoopProgram {
  List<Node> nodes;
  const Shape* shapes = nullptr;  // of each node
  const u16* column_of = nullptr;  // of each node; kNoNode: none
  u16 columns = 0;
  List<u16> setup;  // invariant and affine nodes that a step needs, operands first
  List<u16> body;  // varying nodes whose columns a round computes, operands first
  List<u16> finals;  // nodes that the state after the last iteration needs, operands first
  List<u16> data;  // conditions of the body
  List<u16> no_wrap;  // affine nodes that are so as long as their operand does not wrap
  List<Test> tests;
  List<Access> accesses;
  List<Output> outputs;
  List<Carried> carried;
  Bulk bulk = Bulk::kNone;
  u32 words = 0;  // instructions of an iteration, at most
  u16 length = kNoNode;  // how many each has; none: `words`
  List<u16> narrow;  // inputs whose upper halves must be zero before the first iteration
  List<u16> aligned;  // a & -2^n of an affine a, affine as long as its step is a multiple of 2^n
  List<Table> tables;
  NativeRound native = nullptr;  // machine code of this host for the body; not every executor uses it
  u32 features = 0;
};

}  // namespace kvrm::accelerate
