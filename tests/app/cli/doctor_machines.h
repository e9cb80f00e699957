// Machines that `shardscope doctor` is tried on, and how its checks are looked at.
#pragma once

#include "app/cli/doctor/doctor_checks.h"
#include "app/cli/doctor/doctor_probe.h"
#include "app/cli/doctor/doctor_report.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <variant>

namespace shardscope::cli {

template <class Part>
bool isA(const run::ProbePart& part) {
    return std::holds_alternative<Part>(part);
}
/// What the probe told, to be changed.
template <class Part>
Part& of(ProbeOutcome& outcome) {
    return std::get<Part>(*std::find_if(outcome.parts.begin(), outcome.parts.end(), isA<Part>));
}
template <class Part>
void forget(ProbeOutcome& outcome) {
    std::erase_if(outcome.parts, isA<Part>);
}

inline run::DriverPart healthyDriver() {
    run::DriverPart driver;
    driver.version = "580.95.05";
    driver.devices = {{"NVIDIA H100 80GB HBM3",
                       "00000000:1B:00.0",
                       "GPU-1",
                       Bytes{85899345920},
                       Bytes{0},
                       false,
                       {}}};
    return driver;
}

inline run::CudaPart healthyCuda() {
    run::CudaPart cuda;
    cuda.loaded = true;
    cuda.driverVersion = 13000;
    cuda.runtimeVersion = 13000;
    cuda.cuptiVersion = 130001;
    cuda.ncclVersion = 22809;
    cuda.devices = {
        {"NVIDIA H100 80GB HBM3", "0000:1b:00.0", "GPU-1", Bytes{85899345920}, 132, "9.0"}};
    cuda.loadedFrom = {{"libcupti.so.13", "/old/cuda/libcupti.so.13"}};
    return cuda;
}

/// What a host with one free H100 answers.
inline ProbeOutcome healthy() {
    ProbeOutcome outcome;
    outcome.parts = {run::EnginePart{"2.11.0", "3.10.2", "AVX2", true}, healthyDriver(),
                     healthyCuda(), run::TracingPart{true, {}}, run::EndPart{}};
    return outcome;
}

inline GpuSurroundings around() {
    GpuSurroundings surroundings;
    surroundings.moduleFile = true;
    surroundings.pci = {"NVIDIA 0000:1b:00.0"};
    surroundings.profilingRule = "RmProfilingAdminOnly: 1\n";
    surroundings.root = true;
    return surroundings;
}

inline GpuSurroundings withoutGpu() {
    GpuSurroundings surroundings;
    surroundings.moduleFile = true;
    return surroundings;
}

inline Diagnosis diagnosed(const ProbeOutcome& probe, const GpuSurroundings& surroundings) {
    Diagnosis diagnosis;
    addGpuChecks(probe, surroundings, diagnosis);
    return diagnosis;
}

inline const Check& checkOf(const Diagnosis& diagnosis, const std::string& id) {
    for (const Check& check : diagnosis.checks)
        if (check.id == id) return check;
    static const Check none{"none", CheckStatus::kOk, "", ""};
    ADD_FAILURE() << "no check " << id;
    return none;
}

inline testing::Matcher<const Check&> says(CheckStatus status,
                                           const testing::Matcher<std::string>& found,
                                           const testing::Matcher<std::string>& remedy) {
    return testing::AllOf(testing::Field("status", &Check::status, status),
                          testing::Field("found", &Check::found, found),
                          testing::Field("remedy", &Check::remedy, remedy));
}

}  // namespace shardscope::cli
