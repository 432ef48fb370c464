// Virtual calls, exceptions, recursion and shared ownership: expressions are built, simplified, derived, printed and
// evaluated. trees PASSES.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "../bench.h"

namespace {

std::uint64_t state = 9;

unsigned random_below(unsigned limit) { return random_next(&state) % limit; }

struct UnknownName : std::runtime_error {
  explicit UnknownName(const std::string& name) : std::runtime_error("unknown name " + name) {}
};

struct DivisionByZero : std::domain_error {
  DivisionByZero() : std::domain_error("division by zero") {}
};

using Values = std::map<std::string, std::int64_t>;

class Node;
using Tree = std::shared_ptr<const Node>;

class Node {
 public:
  virtual ~Node() = default;
  virtual std::int64_t evaluate(const Values& values) const = 0;
  virtual Tree derive(const std::string& name) const = 0;
  virtual Tree simplify() const = 0;
  virtual void print(std::string& out) const = 0;
  virtual std::size_t depth() const { return 1; }
};

class Number final : public Node {
 public:
  explicit Number(std::int64_t value) : value_(value) {}
  std::int64_t evaluate(const Values&) const override { return value_; }
  Tree derive(const std::string&) const override { return std::make_shared<Number>(0); }
  Tree simplify() const override { return std::make_shared<Number>(value_); }
  void print(std::string& out) const override { out += std::to_string(value_); }
  std::int64_t value() const { return value_; }

 private:
  std::int64_t value_;
};

class Name final : public Node {
 public:
  explicit Name(std::string name) : name_(std::move(name)) {}
  std::int64_t evaluate(const Values& values) const override {
    auto found = values.find(name_);
    if (found == values.end()) throw UnknownName(name_);
    return found->second;
  }
  Tree derive(const std::string& name) const override { return std::make_shared<Number>(name == name_); }
  Tree simplify() const override { return std::make_shared<Name>(name_); }
  void print(std::string& out) const override { out += name_; }

 private:
  std::string name_;
};

std::int64_t wrap(std::uint64_t value) { return static_cast<std::int64_t>(value); }

class Binary : public Node {
 public:
  Binary(Tree left, Tree right) : left_(std::move(left)), right_(std::move(right)) {}
  void print(std::string& out) const override {
    out += '(';
    left_->print(out);
    out += symbol();
    right_->print(out);
    out += ')';
  }
  std::size_t depth() const override { return 1 + std::max(left_->depth(), right_->depth()); }
  std::int64_t evaluate(const Values& values) const override {
    return apply(left_->evaluate(values), right_->evaluate(values));
  }
  Tree simplify() const override {
    Tree left = left_->simplify(), right = right_->simplify();
    auto* a = dynamic_cast<const Number*>(left.get());
    auto* b = dynamic_cast<const Number*>(right.get());
    if (a && b) {
      try {
        return std::make_shared<Number>(apply(a->value(), b->value()));
      } catch (const DivisionByZero&) {
        return make(left, right);
      }
    }
    if (Tree short_form = reduce(left, right, a, b)) return short_form;
    return make(left, right);
  }

 protected:
  virtual std::int64_t apply(std::int64_t a, std::int64_t b) const = 0;
  virtual char symbol() const = 0;
  virtual Tree make(Tree left, Tree right) const = 0;
  // Where one side is a number: a shorter form, if there is one.
  virtual Tree reduce(const Tree& left, const Tree& right, const Number* a, const Number* b) const = 0;
  const Tree& left() const { return left_; }
  const Tree& right() const { return right_; }

 private:
  Tree left_;
  Tree right_;
};

class Sum final : public Binary {
 public:
  using Binary::Binary;
  Tree derive(const std::string& name) const override { return make(left()->derive(name), right()->derive(name)); }

 protected:
  std::int64_t apply(std::int64_t a, std::int64_t b) const override {
    return wrap(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  char symbol() const override { return '+'; }
  Tree make(Tree a, Tree b) const override { return std::make_shared<Sum>(std::move(a), std::move(b)); }
  Tree reduce(const Tree& left, const Tree& right, const Number* a, const Number* b) const override {
    if (a && a->value() == 0) return right;
    return b && b->value() == 0 ? left : nullptr;
  }
};

class Product final : public Binary {
 public:
  using Binary::Binary;
  Tree derive(const std::string& name) const override {
    return std::make_shared<Sum>(make(left()->derive(name), right()), make(left(), right()->derive(name)));
  }

 protected:
  std::int64_t apply(std::int64_t a, std::int64_t b) const override {
    return wrap(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
  char symbol() const override { return '*'; }
  Tree make(Tree a, Tree b) const override { return std::make_shared<Product>(std::move(a), std::move(b)); }
  Tree reduce(const Tree& left, const Tree& right, const Number* a, const Number* b) const override {
    if ((a && a->value() == 0) || (b && b->value() == 0)) return std::make_shared<Number>(0);
    if (a && a->value() == 1) return right;
    return b && b->value() == 1 ? left : nullptr;
  }
};

class Quotient final : public Binary {
 public:
  using Binary::Binary;
  Tree derive(const std::string& name) const override { return make(left()->derive(name), right()); }

 protected:
  std::int64_t apply(std::int64_t a, std::int64_t b) const override {
    if (b == 0) throw DivisionByZero();
    return b == -1 ? wrap(-static_cast<std::uint64_t>(a)) : a / b;
  }
  char symbol() const override { return '/'; }
  Tree make(Tree a, Tree b) const override { return std::make_shared<Quotient>(std::move(a), std::move(b)); }
  Tree reduce(const Tree& left, const Tree&, const Number*, const Number* b) const override {
    return b && b->value() == 1 ? left : nullptr;
  }
};

Tree grow(unsigned depth) {
  if (depth == 0 || random_below(12) == 0) {
    if (random_below(2)) return std::make_shared<Number>(random_below(5));
    return std::make_shared<Name>(std::string(1, static_cast<char>('x' + random_below(3))));
  }
  Tree left = grow(depth - 1), right = grow(depth - 1);
  switch (random_below(5)) {
    case 0: return std::make_shared<Quotient>(left, right);
    case 1:
    case 2: return std::make_shared<Product>(left, right);
    default: return std::make_shared<Sum>(left, right);
  }
}

using Result = std::variant<std::int64_t, std::string>;

Result evaluate(const Tree& tree, const Values& values) {
  try {
    return tree->evaluate(values);
  } catch (const UnknownName& error) {
    return std::string(error.what());
  } catch (const std::exception& error) {
    return std::string("error: ") + error.what();
  }
}

std::uint64_t bits_of(const Result& result) {
  if (auto* number = std::get_if<std::int64_t>(&result)) return static_cast<std::uint64_t>(*number);
  return std::hash<std::string>{}(std::get<std::string>(result));
}

std::uint64_t pass(std::uint64_t sum, const Values& most, const Values& all) {
  Tree tree = grow(7);
  Tree simple = tree->simplify();
  Tree derived = tree->derive("x")->simplify();
  std::string text;
  derived->print(text);
  sum = fold(sum, text.size() + derived->depth() * 1000 + simple->depth());
  for (const Tree& each : {tree, simple, derived}) sum = fold(sum, bits_of(evaluate(each, all)));
  return fold(sum, bits_of(evaluate(simple, most)));
}

void run(int passes) {
  Values all = {{"x", 3}, {"y", -2}, {"z", 7}}, most = {{"x", 1}, {"y", 5}};
  std::uint64_t sum = 0;
  for (int i = 0; i < passes; i++) {
    all["x"] = i % 10;
    sum = pass(sum, most, all);
  }
  std::cout << "trees " << std::hex << sum << '\n';
}

}  // namespace

#ifndef KVRM_JOB
int main(int argc, char** argv) { run(argc > 1 ? std::atoi(argv[1]) : 1); }
#endif
