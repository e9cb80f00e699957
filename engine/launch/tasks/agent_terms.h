// What the agent of a task does for a recorder that it is connected to over a network: it starts
// ranks of its own program, for the run that its own task's command line asks for. A recorder that
// is not what it seems can ask for nothing else; one that reaches its agents through ssh is this
// user's own and may.
//
// Pure functions.
#pragma once

#include "engine/run/protocol/messages.h"
#include "storage/model/result.h"

namespace shardscope::launch {

/// kLaunch with a sentence that names what goes beyond the terms: a program, an environment
/// variable that chooses more than devices, threads and networks, an option that the task's own
/// command line sets otherwise, ranks that are not the run's.
Result<void> checkTerms(const run::TaskTerms& terms, const run::LaunchRequest& request);
/// A folder or file that is not the run's data.
Result<void> checkTerms(const run::TaskTerms& terms, const run::DataRequest& request);
/// More hosts than the run has ranks.
Result<void> checkTerms(const run::TaskTerms& terms, const run::PeersRequest& request);

}  // namespace shardscope::launch
