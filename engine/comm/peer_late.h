// A peer did not come in time. It may itself wait for another.
#pragma once

#include "engine/comm/communicator.h"

#include <string>

namespace shardscope::comm {

class PeerLate : public CommunicationError {
public:
    /// `rank`: of the run.
    PeerLate(const std::string& what, int rank) : CommunicationError(what), m_rank(rank) {}
    [[nodiscard]] int rank() const { return m_rank; }

private:
    int m_rank;
};

}  // namespace shardscope::comm
