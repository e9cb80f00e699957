#include "app/cli/doctor_devices.h"

#include "storage/model/quantity_text.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

using DriverDevices = std::vector<run::DriverDevice>;

constexpr const char* kOldestCapability = "8.0";
constexpr const char* kChooseAnother = "choose another with CUDA_VISIBLE_DEVICES";

bool tooOld(const run::CudaDevice& device) {
    return std::atof(device.computeCapability.c_str()) < std::atof(kOldestCapability);
}

/// Of CUDA or of the driver.
template <class Device>
std::string deviceText(const Device& device) {
    return fmt::format("{} ({}), {}", device.name, device.pciBusId, bytesText(device.memory));
}

/// " 3.0 MiB"; empty where it is not known.
std::string heldText(const std::optional<Bytes>& memory) {
    return memory && memory->count > 0 ? " " + bytesText(*memory) : "";
}

std::string usersText(const run::DriverDevice& device) {
    if (device.users.empty()) return "";
    std::string users;
    for (const run::DeviceUser& user : device.users) {
        users += fmt::format("{}pid {} {}{}", users.empty() ? "" : ", ", user.pid, user.name,
                             heldText(user.memory));
    }
    return fmt::format(", in use{}: {}", heldText(device.memoryUsed), users);
}

/// The driver's word on CUDA's device: NVML writes "00000000:17:00.0" where CUDA writes
/// "0000:17:00.0". Null: it has none.
const run::DriverDevice* sameDevice(const DriverDevices& devices, const std::string& bus) {
    const auto same = std::find_if(devices.begin(), devices.end(), [&](const auto& device) {
        const std::string& own = device.pciBusId;
        return !bus.empty() && own.size() >= bus.size() &&
               ::strcasecmp(own.c_str() + own.size() - bus.size(), bus.c_str()) == 0;
    });
    return same == devices.end() ? nullptr : &*same;
}

Check usableCheck(std::string id, const run::CudaDevice& device, const DriverDevices& known) {
    std::string found = deviceText(device) + ", compute capability " + device.computeCapability;
    if (tooOld(device)) {
        found += fmt::format(", older than {}, which this build is made for", kOldestCapability);
        return {std::move(id), CheckStatus::kProblem, std::move(found), kChooseAnother};
    }
    const run::DriverDevice* same = sameDevice(known, device.pciBusId);
    if (same == nullptr) return {std::move(id), CheckStatus::kOk, std::move(found), ""};
    if (same->mig) found += ", a slice (MIG mode)";
    const bool used = !same->users.empty();
    return {std::move(id), same->mig || used ? CheckStatus::kNote : CheckStatus::kOk,
            found + usersText(*same),
            used ? std::string("end what uses it, or ") + kChooseAnother : ""};
}

/// What the driver has, though CUDA or this build cannot use it.
Check shownCheck(std::string id, const run::DriverDevice& device) {
    return {std::move(id), CheckStatus::kNote, deviceText(device) + usersText(device), ""};
}

void addUnusable(const run::Obstacle& problem, Diagnosis& diagnosis) {
    // That is said of the driver already.
    if (problem.none() || problem.code == run::kNoDriverCode) return;
    diagnosis.checks.push_back(
        {"gpu.usable", CheckStatus::kProblem, problem.found, problem.remedy});
}

}  // namespace

void addDeviceChecks(const ProbeOutcome& probe, Diagnosis& diagnosis) {
    const auto* driver = probe.part<run::DriverPart>();
    const auto* part = probe.part<run::CudaPart>();
    const DriverDevices known = driver != nullptr ? driver->devices : DriverDevices{};
    const run::CudaPart cuda = part != nullptr && part->loaded ? *part : run::CudaPart{};
    diagnosis.cuda = cuda.problem.none() && !cuda.devices.empty() &&
                     std::none_of(cuda.devices.begin(), cuda.devices.end(), tooOld);
    addUnusable(cuda.problem, diagnosis);
    int told = 0;
    const auto id = [&] { return fmt::format("gpu.device_{}", told++); };
    for (const run::CudaDevice& device : cuda.devices)
        diagnosis.checks.push_back(usableCheck(id(), device, known));
    if (!cuda.devices.empty()) return;
    for (const run::DriverDevice& device : known)
        diagnosis.checks.push_back(shownCheck(id(), device));
}

}  // namespace shardscope::cli
