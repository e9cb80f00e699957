// Which hosts, and how they are reached.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace shardscope::launch {

/// A host as the user's ssh knows it.
struct SshHost {
    std::string target;  ///< [user@]name
    /// Below which the program is put, "~/" is the home there; empty: the cache folder there.
    std::string folder;
    bool takesData = true;  ///< of a payload that has some
};

/// What ssh does where it needs a word of the user's: a passphrase, a password, whether to trust a
/// key.
enum class AskPolicy {
    kNever,    ///< it fails, in words
    kAskpass,  ///< it runs the program that SSH_ASKPASS names (OpenSSH 8.4); nothing is kept
};

struct SshOptions {
    std::vector<std::string> command = {"ssh"};  ///< words, e.g. "ssh -F CONFIG"
    AskPolicy ask = AskPolicy::kNever;
    /// Fingerprint of a key ("SHA256:...") that the user has seen and trusts: ssh, which asks
    /// whether to trust a key, is given this one; it keeps the key only if that is it. Empty: none.
    std::string acceptKey;
    /// Whether a host without LibTorch is sent this one's.
    bool deployLibTorch = false;
    /// Whether ranks are to run on GPUs: of hosts that have some LibTorch's CUDA part is wanted
    /// too.
    bool wantsGpus = false;
    /// After so much silence of its connection ssh gives it up.
    std::chrono::seconds lease{15};
    /// What ssh gets to connect and log in, all questions of keys and jumps included.
    std::chrono::seconds loginLimit{40};
    /// For how long nothing may come from a host that was asked something.
    std::chrono::seconds answerLimit{120};
};

}  // namespace shardscope::launch
