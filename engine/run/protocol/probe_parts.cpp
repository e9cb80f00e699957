#include "engine/run/protocol/probe_parts.h"

#include "engine/run/protocol/json_fields.h"

#include <cstddef>

namespace shardscope::run {

// Fields, one function a struct; found by its namespace, each before what it is part of.

FieldsOf<DeviceUser> fieldsOf(Of<DeviceUser>) {
    using M = DeviceUser;
    return {{"pid", &M::pid}, {"name", &M::name}, {"memory_bytes", &M::memory}};
}
FieldsOf<DriverDevice> fieldsOf(Of<DriverDevice>) {
    using M = DriverDevice;
    return {{"name", &M::name},           {"pci_bus_id", &M::pciBusId},          {"uuid", &M::uuid},
            {"memory_bytes", &M::memory}, {"memory_used_bytes", &M::memoryUsed}, {"mig", &M::mig},
            {"processes", &M::users}};
}
FieldsOf<CudaDevice> fieldsOf(Of<CudaDevice>) {
    using M = CudaDevice;
    return {{"name", &M::name},
            {"pci_bus_id", &M::pciBusId},
            {"uuid", &M::uuid},
            {"memory_bytes", &M::memory},
            {"multiprocessors", &M::multiprocessors},
            {"compute_capability", &M::computeCapability}};
}

// Of an obstacle, what was found has the name that older probes know.

FieldsOf<EnginePart> fieldsOf(Of<EnginePart>) {
    using M = EnginePart;
    return {{"libtorch", &M::libtorch},
            {"one_dnn", &M::oneDnn},
            {"cpu_capability", &M::cpuCapability},
            {"computes", &M::computes}};
}
FieldsOf<DriverPart> fieldsOf(Of<DriverPart>) {
    using M = DriverPart;
    return {{"code", &M::problem, &Obstacle::code},
            {"problem", &M::problem, &Obstacle::found},
            {"remedy", &M::problem, &Obstacle::remedy},
            {"version", &M::version},
            {"devices", &M::devices}};
}
FieldsOf<CudaPart> fieldsOf(Of<CudaPart>) {
    using M = CudaPart;
    return {{"loaded", &M::loaded},
            {"code", &M::problem, &Obstacle::code},
            {"problem", &M::problem, &Obstacle::found},
            {"remedy", &M::problem, &Obstacle::remedy},
            {"driver_version", &M::driverVersion},
            {"runtime_version", &M::runtimeVersion},
            {"cupti_version", &M::cuptiVersion},
            {"nccl_version", &M::ncclVersion},
            {"devices", &M::devices},
            {"loaded_from", &M::loadedFrom}};
}
FieldsOf<TracingPart> fieldsOf(Of<TracingPart>) {
    using M = TracingPart;
    return {{"started", &M::started},
            {"code", &M::problem, &Obstacle::code},
            {"message", &M::problem, &Obstacle::found},
            {"remedy", &M::problem, &Obstacle::remedy}};
}
FieldsOf<EndPart> fieldsOf(Of<EndPart>) {
    return {};
}

namespace {

using Parts = Alternatives<ProbePart>;

/// The word under "part", by alternative of ProbePart.
constexpr Parts::Words kParts{"engine", "driver", "cuda", "tracing", "end"};
static_assert(kParts.back() != nullptr);

}  // namespace

std::string encodePart(const ProbePart& part) {
    return Parts::encode("part", kParts, part);
}

std::optional<ProbePart> decodePart(std::string_view line) {
    const TaggedFields fields(line, "part");
    const std::size_t place = Parts::placeOf(fields.word(), kParts);
    if (!fields.hasWord() || place == kParts.size()) return std::nullopt;
    ProbePart part;
    // What is malformed stays as it is: there is no error.
    static_cast<void>(fields.read(*Parts::kShapes[place], Parts::emplace(part, place),
                                  Kept::kMalformed, Texts::kLine));
    return part;
}

}  // namespace shardscope::run
