#include "engine/training/step_settlement.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>

#include <span>

namespace shardscope::training {
namespace {

// Operators' events and memory accounting need not know of a few numbers.
using Bookkeeping = at::DisableRecordFunctionGuard;

at::Tensor numbersOn(at::Device device) {
    const Bookkeeping quiet;
    return at::zeros({kernels::kStepUpdateValues},
                     at::TensorOptions().dtype(at::kDouble).device(device));
}

/// That a device copies to behind other work.
at::Tensor numbersFor(at::Device device) {
    const Bookkeeping quiet;
    return at::empty({kernels::kStepUpdateValues},
                     at::TensorOptions().dtype(at::kDouble).pinned_memory(!device.is_cpu()));
}

constexpr std::int64_t kSums = sizeof(kernels::StepSums) / sizeof(double);

}  // namespace

StepSettlement::StepSettlement(at::Device device, OptimizerPlace optimizer,
                               comm::Communicator& communicator, control::DeviceRuntime* runtime)
    : m_optimizer(optimizer),
      m_communicator(communicator),
      m_runtime(optimizer == OptimizerPlace::kDevice ? runtime : nullptr),
      m_values(numbersOn(device)) {
    for (Arrival& arrival : m_arrivals) {
        arrival.values = numbersFor(device);
        if (runsAhead()) arrival.there = m_runtime->createEvent();
    }
}

StepSettlement::~StepSettlement() {
    for (const Arrival& arrival : m_arrivals)
        if (arrival.there.handle != nullptr) m_runtime->destroy(arrival.there);
}

void StepSettlement::setUpdates(std::int64_t updates) {
    const Bookkeeping quiet;
    kernels::StepUpdate resumed;
    resumed.updates = static_cast<double>(updates);
    const at::Tensor host = numbersOn(at::kCPU);
    *kernels::stepUpdateIn(host) = resumed;
    m_values.copy_(host);
}

void StepSettlement::begin(bool stop, bool change) {
    kernels::beginUpdate(m_values, stop, change);
}

at::Tensor StepSettlement::squaredNorm() const {
    const Bookkeeping quiet;
    return m_values.select(0, 0);
}

at::Tensor StepSettlement::loss() const {
    const Bookkeeping quiet;
    return m_values.select(0, 1);
}

void StepSettlement::sum(const comm::CollectiveTag& tag) {
    const std::span sums(m_values.mutable_data_ptr<double>(), kSums);
    m_communicator.sumInPlace(sums, tag).wait();
}

void StepSettlement::decide(const kernels::UpdateRule& rule) {
    const Bookkeeping quiet;
    kernels::decideUpdate(rule, m_values);
}

void StepSettlement::send() {
    const Bookkeeping quiet;
    Arrival& arrival = m_arrivals[m_sent++ % kArrivals];
    arrival.values.copy_(m_values, runsAhead());
    if (runsAhead()) m_runtime->record(arrival.there, m_runtime->currentStream());
}

const kernels::StepUpdate* StepSettlement::update() const {
    if (m_optimizer == OptimizerPlace::kDevice) return kernels::stepUpdateIn(m_values);
    return kernels::stepUpdateIn(m_arrivals[(m_received - 1) % kArrivals].values);
}

kernels::StepUpdate StepSettlement::receive() {
    const Arrival& arrival = m_arrivals[m_received++ % kArrivals];
    if (runsAhead()) m_runtime->synchronize(arrival.there);
    return *kernels::stepUpdateIn(arrival.values);
}

}  // namespace shardscope::training
