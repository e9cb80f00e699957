#include "engine/run/protocol/probe_parts.h"

#include "engine/run/protocol/json_fields.h"

#include <iterator>

namespace shardscope::run {

// Of structs inside parts: json_fields.h finds them by their struct, so in its namespace.
template <class F>
void fields(F& f, DeviceUser& m) {
    f("pid", m.pid), f("name", m.name), f("memory_bytes", m.memory);
}
template <class F>
void fields(F& f, DriverDevice& m) {
    f("name", m.name), f("pci_bus_id", m.pciBusId), f("uuid", m.uuid);
    f("memory_bytes", m.memory), f("memory_used_bytes", m.memoryUsed), f("mig", m.mig);
    f("processes", m.users);
}
template <class F>
void fields(F& f, CudaDevice& m) {
    f("name", m.name), f("pci_bus_id", m.pciBusId), f("uuid", m.uuid);
    f("memory_bytes", m.memory), f("multiprocessors", m.multiprocessors);
    f("compute_capability", m.computeCapability);
}

namespace {

using Json = nlohmann::ordered_json;

/// Beside the part's own fields. `found` is the name that older probes know.
template <class F>
void obstacleFields(F& f, const char* found, Obstacle& m) {
    f("code", m.code), f(found, m.found), f("remedy", m.remedy);
}
template <class F>
void fields(F& f, EnginePart& m) {
    f("libtorch", m.libtorch), f("one_dnn", m.oneDnn), f("cpu_capability", m.cpuCapability);
    f("computes", m.computes);
}
template <class F>
void fields(F& f, DriverPart& m) {
    obstacleFields(f, "problem", m.problem);
    f("version", m.version), f("devices", m.devices);
}
template <class F>
void fields(F& f, CudaPart& m) {
    f("loaded", m.loaded);
    obstacleFields(f, "problem", m.problem);
    f("driver_version", m.driverVersion), f("runtime_version", m.runtimeVersion);
    f("cupti_version", m.cuptiVersion), f("nccl_version", m.ncclVersion);
    f("devices", m.devices), f("loaded_from", m.loadedFrom);
}
template <class F>
void fields(F& f, TracingPart& m) {
    f("started", m.started);
    obstacleFields(f, "message", m.problem);
}
template <class F>
void fields(F&, EndPart&) {}

/// The word under "part", by alternative of ProbePart.
constexpr const char* kParts[] = {"engine", "driver", "cuda", "tracing", "end"};
static_assert(std::size(kParts) == std::variant_size_v<ProbePart>);

template <std::size_t I = 0>
std::optional<ProbePart> decodeAs(const std::string& part, const Json& json) {
    if constexpr (I == std::variant_size_v<ProbePart>) {
        return std::nullopt;
    } else {
        if (part != kParts[I]) return decodeAs<I + 1>(part, json);
        std::variant_alternative_t<I, ProbePart> read;
        FieldReader<Json> reader(json, part, Kept::kMalformed, Texts::kLine);
        fields(reader, read);
        return read;
    }
}

}  // namespace

std::string encodePart(const ProbePart& part) {
    Json json{{"part", kParts[part.index()]}};
    FieldWriter<Json> writer;
    // The writer reads only; the shared field lists take their struct by plain reference.
    std::visit([&](auto copy) { fields(writer, copy); }, part);
    json.update(writer.take());
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<ProbePart> decodePart(std::string_view line) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("part") || !json["part"].is_string())
        return std::nullopt;
    return decodeAs(json["part"].get<std::string>(), json);
}

}  // namespace shardscope::run
