// `shardscope doctor --hosts`: what the hosts of a run are and have, and what each lacks.
#pragma once

#include <string>

namespace shardscope::cli {

struct DoctorHosts {
    std::string hosts;  ///< a host file, or a list
    std::string sshCommand = "ssh";
    std::string acceptKey;  ///< fingerprint of an unknown key that is trusted from now on
    bool json = false;      ///< one object, schema shardscope.doctor-hosts/1
};

/// Prints a row per host and what fixes what is missing. Exit status: 0 all can run ranks, 4 one
/// cannot.
int diagnoseHosts(const DoctorHosts& options);

}  // namespace shardscope::cli
