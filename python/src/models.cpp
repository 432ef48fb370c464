// Networks' weights, and the proof that dispatch by network is exact.
#include "kvrm/models.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "convert.h"

namespace kvrm::python {
namespace {

// nanobind holds pointers to non-const objects; nothing changes weights.
using Held = std::shared_ptr<Weights>;
Held held(const WeightsPointer& weights) { return std::const_pointer_cast<Weights>(weights); }

Held make(const nb::object& numbers) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object flat = numpy.attr("ascontiguousarray")(numbers, nb::arg("dtype") = "float32").attr("ravel")();
  const auto array = nb::cast<nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(flat);
  return held(unwrap(make_weights({array.data(), array.data() + array.size()})));
}

nb::object values_of(const Held& weights) {
  const Weights& constant = *weights;  // read-only: other objects may share them
  return view_of(constant.values.data(), {constant.values.size()}, weights);
}

nb::dict tensors_of(const Held& weights) {
  nb::dict result;
  const nb::object all = values_of(weights);
  for (const Tensor& tensor : weights->layout->tensors) {
    std::uint64_t count = 1;
    nb::list shape;
    for (const std::uint64_t extent : tensor.shape) {
      shape.append(extent);
      count *= extent;
    }
    result[tensor.name.c_str()] =
        all[nb::slice(nb::int_(tensor.offset), nb::int_(tensor.offset + count), nb::none())].attr("reshape")(
            nb::tuple(shape));
  }
  return result;
}

nb::dict verify(const Held& weights, const std::string& device, bool exhaustive, unsigned threads, unsigned ordinal) {
  VerifyOptions options;
  options.device = device_named(device);
  options.exhaustive = exhaustive;
  options.threads = threads;
  options.device_ordinal = ordinal;
  const auto report = [&] {
    const nb::gil_scoped_release release;
    return unwrap(verify_dispatch(*weights, options));
  }();
  nb::dict result;
  result["words"] = report.verification.words;
  result["errors"] = report.verification.errors;
  result["margin"] = report.verification.margin;
  result["inputs"] = report.inputs;
  result["seconds"] = report.seconds;
  result["rounding"] = report.rounding;
  result["device"] = report.verification.device;
  result["method"] = report.verification.method;
  result["checksum"] = report.verification.checksum;
  return result;
}

std::string describe(const Weights& weights) {
  return "<kvrm.Weights of " + weights.layout->name + ", features " + std::to_string(weights.features) + ", " +
         std::to_string(weights.values.size()) + " parameters, " + (weights.verified() ? "verified" : "not verified") +
         ", " + weights.source + ">";
}

}  // namespace

WeightsPointer weights_from(nb::handle from) {
  if (from.is_none()) return nullptr;
  if (nb::isinstance<Weights>(from)) return nb::cast<Held>(from);
  if (nb::isinstance<nb::str>(from) || nb::hasattr(from, "__fspath__")) return unwrap(load_weights(path_of(from)));
  return make(nb::borrow(from));
}

void bind_models(nb::module_& module) {
  nb::class_<Weights>(module, "Weights", "The weights of one network.")
      .def_ro("source", &Weights::source, "The file, 'built in' or 'memory'.")
      .def_prop_ro(
          "model", [](const Weights& w) { return w.layout->name; }, "dispatch-embedding and so on.")
      .def_ro("features", &Weights::features, "Version of the network's input.")
      .def_ro("checksum", &Weights::checksum)
      .def_ro("described", &Weights::described, "A description was beside the file.")
      .def_ro("training_command", &Weights::training_command)
      .def_ro("metrics", &Weights::metrics, "Of the training, as JSON.")
      .def_prop_ro("verified", &Weights::verified, "A passed verification of exactly these weights is on record.")
      .def_prop_ro("values", &values_of, nb::sig("def values(self, /) -> numpy.typing.NDArray[numpy.float32]"),
                   "All values; a view without copies, not to be written.")
      .def_prop_ro("tensors", &tensors_of,
                   nb::sig("def tensors(self, /) -> dict[str, numpy.typing.NDArray[numpy.float32]]"),
                   "The layers by name; views without copies, not to be written.")
      .def("__len__", [](const Weights& w) { return w.values.size(); })
      .def("__repr__", &describe);
  module.def(
      "load_weights", [](const nb::object& path) { return held(unwrap(load_weights(path_of(path)))); }, nb::arg("path"),
      nb::sig("def load_weights(path: str | os.PathLike[str]) -> Weights"),
      "Weights from a .npy file, with the description beside it if there is one.");
  module.def("make_weights", &make, nb::arg("values"),
             nb::sig("def make_weights(values: numpy.typing.ArrayLike) -> Weights"),
             "Weights from numbers; their count determines the model.");
  module.def(
      "built_in_weights", [](const std::string& model) { return held(unwrap(built_in_weights(model))); },
      nb::arg("model") = "dispatch-embedding", "Weights that come with the package.");
  module.def("built_in_models", &built_in_models, "The models whose weights come with the package.");
  module.def("verify_dispatch", &verify, nb::arg("weights"), nb::arg("device") = "cpu", nb::arg("exhaustive") = false,
             nb::arg("threads") = 0, nb::arg("ordinal") = 0,
             nb::sig("def verify_dispatch(weights: Weights, device: str = 'cpu', exhaustive: bool = False, "
                     "threads: int = 0, ordinal: int = 0) -> dict[str, typing.Any]"),
             "Compares a dispatch network with the table on every 32-bit word.");
}

}  // namespace kvrm::python
