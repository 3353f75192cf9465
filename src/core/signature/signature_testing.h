// For tests: keys as openssl writes them, without any other use.
#pragma once

#include <string_view>

namespace bellwether::signature {

// Of RFC 8410, section 10.3, and its public key.
inline constexpr std::string_view kTestKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr std::string_view kTestPublicKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
    "-----END PUBLIC KEY-----\n";
// Another one.
inline constexpr std::string_view kOtherKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIE7QDHNucJGpvtEw/9GopG+eqdgJUXsEyD89n30P2fZO\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr std::string_view kOtherPublicKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAV8vjOa4zABzLCb0UglcYZ9A2yEN4mEaiemuFL02rrIY=\n"
    "-----END PUBLIC KEY-----\n";
// Of other kinds: P-256, and one with a password.
inline constexpr std::string_view kEcKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNRE8BysoheXFY4sS\n"
    "mObGFLUKZ/saZWIyEu49BCvXPvChRANCAARaace1GZceJA/EHsxRU/IzDcfqVIOb\n"
    "5YS9aLOsL5AzYG6zFq8EPJV2csWOIuStOsLwzNMKCEXPx3SiXBKlm9oY\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr std::string_view kEcPublicKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWmnHtRmXHiQPxB7MUVPyMw3H6lSD\n"
    "m+WEvWizrC+QM2BusxavBDyVdnLFjiLkrTrC8MzTCghFz8d0olwSpZvaGA==\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr std::string_view kKeyWithPassword =
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
    "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAg8qykkf5KGkAICCAAw\n"
    "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEAfphfuSAmFsBaIJJHzXvD0EQG0b\n"
    "O/6OaUko7Ror6CpYwn4WIm5hUZzLtGAVP2xvR7q6KRDSCGP0Dma07wWEY7ZXB+C/\n"
    "M9uVPhHSDex3lXJWPiI=\n"
    "-----END ENCRYPTED PRIVATE KEY-----\n";

}  // namespace bellwether::signature
