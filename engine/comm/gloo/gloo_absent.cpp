// In place of gloo_mesh.cpp where libgloo-dev's headers were not found.
#include "engine/comm/gloo/gloo_communicator.h"

namespace shardscope::comm {

bool hasGloo() {
    return false;
}

std::shared_ptr<Mesh> makeGlooMesh(const GlooSetup& setup) {
    if (setup.world) {
        throw CommunicationError(
            "ranks on several hosts talk through Gloo, which this build has not: install "
            "libgloo-dev and build again");
    }
    throw CommunicationError(
        "this build has no Gloo: install libgloo-dev and build again, or leave --transport to "
        "itself");
}

}  // namespace shardscope::comm
