// A communicator as if its ranks were joined by another link: every operation moves the same bytes
// and takes at least what the ring formula says (engine/run/theory/communicator_theory.h), so that
// one host can show what a network would do.
//
// Each communicator is a link of its own, on which operations take turns: one begins when all
// ranks have arrived and the one before is through by its formula, and ends no earlier than its own
// formula later. All ranks reckon with the same times, so that they agree on arrivals.
// The rest of the time its thread sleeps; the CPU is the caller's. The bytes themselves move as
// soon as they can. Reports say "modelled" (algorithm) and which link (protocol); start and
// arrivals are when the operation came to the link, end is when the link is done.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/run/theory/communicator_theory.h"

#include <memory>

namespace shardscope::comm {

/// On top of a communicator of CPU ranks that was made without an observer. `observer` may be
/// null; it outlives the communicator, whose reports name the link by a string of its own.
std::unique_ptr<Communicator> makeModelledCommunicator(std::unique_ptr<Communicator> inner,
                                                       const theory::LinkModel& link,
                                                       control::Observer* observer);

}  // namespace shardscope::comm
