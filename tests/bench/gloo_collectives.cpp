#include "tests/bench/gloo_collectives.h"

#include "engine/network/network_interface.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <array>
#include <vector>

namespace shardscope::bench {
namespace {

at::Tensor row(float* values, std::size_t count) {
    return at::from_blob(values, {static_cast<std::int64_t>(count)}, at::kFloat);
}

c10::intrusive_ptr<c10d::Store> storeOf(comm::Communicator& host) {
    c10d::TCPStoreOptions options;
    network::Listener listener;
    if (host.rank() == 0) listener = *network::listenOn("127.0.0.1");
    std::array<double, 1> port{static_cast<double>(listener.port)};
    host.allReduceSmall(port, comm::Reduction::kSum, {}).wait();
    options.port = static_cast<std::uint16_t>(port[0]);
    options.isServer = host.rank() == 0;
    options.numWorkers = static_cast<std::size_t>(host.size());
    options.useLibUV = false;
    if (options.isServer) options.masterListenFd = listener.fd;
    return c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
}

}  // namespace

struct GlooCollectives::Group {
    c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
    std::size_t ranks = 1;
};

GlooCollectives::GlooCollectives(comm::Communicator& host) : m_group(std::make_unique<Group>()) {
    auto options = c10d::ProcessGroupGloo::Options::create();
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    m_group->gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("own", storeOf(host)), host.rank(), host.size(),
        options);
    m_group->ranks = static_cast<std::size_t>(host.size());
}

GlooCollectives::~GlooCollectives() = default;

void GlooCollectives::allGather(float* shard, std::size_t n, float* out) {
    at::Tensor input = row(shard, n), output = row(out, n * m_group->ranks);
    m_group->gloo->_allgather_base(output, input)->wait();
}

void GlooCollectives::reduceScatter(float* full, std::size_t count, float* out) {
    at::Tensor input = row(full, count), output = row(out, count / m_group->ranks);
    m_group->gloo->_reduce_scatter_base(output, input)->wait();
}

void GlooCollectives::allReduce(float* values, std::size_t count) {
    std::vector<at::Tensor> rows{row(values, count)};
    m_group->gloo->allreduce(rows)->wait();
}

void GlooCollectives::broadcast(float* values, std::size_t count) {
    std::vector<at::Tensor> rows{row(values, count)};
    m_group->gloo->broadcast(rows)->wait();
}

void GlooCollectives::allToAll(float* values, std::size_t count, float* out) {
    at::Tensor input = row(values, count), output = row(out, count);
    std::vector<std::int64_t> even;
    m_group->gloo->alltoall_base(output, input, even, even)->wait();
}

}  // namespace shardscope::bench
