// Shamir's secret sharing ("How to Share a Secret", Communications of the ACM 22, 1979) over GF(2^8), byte by byte: a
// secret becomes n key shares. Any t of them give it back, and fewer say nothing about it. With t = 1 EACH KEY SHARE IS
// THE SECRET: plain copies, which hide nothing.
//
// The split covers the secret with 32 random bytes behind it, the blind, so that the public digests of a commitment do
// not let an attacker try out short secrets: the blind would have to be guessed too. That property rests on SHA-256;
// that too few key shares say nothing rests on the randomness alone.
//
// The node that splits is trusted: to draw well, to commit to what was split, and to forget it.
#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/secret/commitment.h"

namespace bellwether::secret {

struct Splitting {
  Commitment commitment;
  std::vector<KeyShare> shares;  // of index 1, 2, …
};

// How much randomness a splitting takes. Errors: as check_split().
Result<std::size_t> random_bytes_for(std::size_t secret_bytes, SplitRule rule);
// `random` has random_bytes_for() bytes, which are for this splitting alone. Errors: as check_split(); kIo: zeros in
// place of randomness. The work grows with bytes x threshold x key shares: do not split large secrets on a loop that
// serves others.
Result<Splitting> split(SecretId id, const SecretBytes& secret, SplitRule rule, SecretBytes random);

// `fill` writes unpredictable bytes, as getrandom(2) does, or returns why it cannot.
template <class Fill>
  requires std::same_as<std::invoke_result_t<Fill&, MutableBytes>, Status>
Result<Splitting> split(SecretId id, const SecretBytes& secret, SplitRule rule, Fill&& fill) {
  BW_TRY(const std::size_t size, random_bytes_for(secret.size(), rule));
  SecretBytes random(size);
  BW_RETURN_IF_ERROR(fill(random.bytes()));
  return split(id, secret, rule, std::move(random));
}

// The secret, from the first key shares that suffice. Errors: those of Commitment::check() for each of these; kInvalid:
// too few, one of them twice, or their result is not the committed secret.
Result<SecretBytes> combine(const Commitment& commitment, std::span<const KeyShare> shares);

}  // namespace bellwether::secret
