#include "engine/comm/gloo/gloo_communicator.h"

#include "engine/comm/ring_communicator.h"

namespace shardscope::comm {

std::unique_ptr<Communicator> makeGlooCommunicator(const GlooSetup& setup) {
    RingSetup ring;
    ring.mesh = makeGlooMesh(setup);
    ring.observer = setup.observer;
    ring.memory = setup.memory;
    ring.protocol = kGlooProtocol;
    ring.timeout = setup.timeout;
    ring.sharedClock = !setup.world;
    return makeRingCommunicator(ring);
}

}  // namespace shardscope::comm
