#include <algorithm>
#include <iterator>

#include "source.h"

namespace kvrm::oracle {
namespace {

class MergedSource : public Source {
 public:
  MergedSource(const Source& source, std::size_t together) : source_(source), together_(together) {}
  std::size_t units() const override { return (source_.units() + together_ - 1) / together_; }
  Unit unit(std::size_t index) const override {
    Unit all;
    const std::size_t end = std::min(source_.units(), (index + 1) * together_);
    for (std::size_t at = index * together_; at < end; ++at) {
      Unit one = source_.unit(at);
      std::move(one.groups.begin(), one.groups.end(), std::back_inserter(all.groups));
      std::move(one.outcomes.begin(), one.outcomes.end(), std::back_inserter(all.outcomes));
    }
    return all;
  }

 private:
  const Source& source_;
  std::size_t together_;
};

}  // namespace

std::unique_ptr<Source> merged_source(const Source& source, std::size_t cases) {
  std::size_t in_first = 0;
  if (source.units() > 0) {
    for (const Group& group : source.unit(0).groups) in_first += group.inputs.size();
  }
  return std::make_unique<MergedSource>(source, std::max<std::size_t>(1, cases / std::max<std::size_t>(1, in_first)));
}

}  // namespace kvrm::oracle
