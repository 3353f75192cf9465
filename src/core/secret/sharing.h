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
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
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

// Polynomials over GF(2^8), side by side, one for each byte of a secret. In constant time except for sizes, numbers of
// points and x, all of which are public.

// The field GF(2^8) of polynomials modulo x^8 + x^4 + x^3 + x + 1 (0x11b, FIPS 197, section 4). A byte is an element;
// sum and difference are both exclusive or. The execution does not depend on the values: they select no branch and no
// table.
constexpr uint8_t multiply(uint8_t a, uint8_t b) {
  unsigned product = 0;
  unsigned shifted = a;
  for (unsigned bit = 0; bit < 8; ++bit) {
    product ^= shifted & (0U - ((unsigned{b} >> bit) & 1U));
    shifted = (shifted << 1U) ^ (0x11bU & (0U - (shifted >> 7U)));
  }
  return static_cast<uint8_t>(product);
}

// The element that gives 1 with `a`; of 0 it is 0. By Fermat: a^254.
constexpr uint8_t inverse(uint8_t a) {
  uint8_t square = a;
  uint8_t product = 1;
  for (int i = 0; i < 7; ++i) {
    square = multiply(square, square);
    product = multiply(product, square);
  }
  return product;
}

// out[i] = value at x of polynomial i. `coefficients` are rows of out.size() bytes, those of x^0 first.
// REQUIRES at least one row, and whole rows.
void evaluate(Bytes coefficients, uint8_t x, MutableBytes out);

struct Point {
  uint8_t x = 0;
  Bytes y;  // of each polynomial
};
// The values at 0 of the polynomials of degree < points.size() that pass through all points (Lagrange).
// REQUIRES points whose x differ and are not 0, and whose y have out.size() bytes.
void interpolate_at_zero(std::span<const Point> points, MutableBytes out);

// Restores one secret from key shares as they come, each from a holder with a number. It refuses a key share that does
// not match the commitment, with its name, its sender and the reason, before it can spoil anything. It holds no more
// key shares than it needs, and wipes them once the secret was given.
//
//   kCollecting ── as many as the threshold ──▶ kReady ── give() ──▶ kGiven, or kSpoiled: the commitment is wrong
class Collector {
 public:
  enum class State : uint8_t { kCollecting, kReady, kGiven, kSpoiled };
  enum class Taken : uint8_t {
    kNew,
    kDouble,     // it is here already
    kNotNeeded,  // it is good; there are enough without it
  };

  explicit Collector(Commitment commitment) : commitment_(std::move(commitment)) {}

  // From the holder `from`. Errors: as Commitment::check(), with the sender in front.
  Result<Taken> take(uint64_t from, KeyShare share);
  // The secret, once. From then on it holds no key share. Errors: kInvalid: it is not kReady yet, or the committed key
  // shares do not give the committed secret, and it is kSpoiled; kClosed: it has ended before.
  Result<SecretBytes> give();

  State state() const { return state_; }
  std::size_t held() const { return shares_.size(); }
  std::size_t needed() const;            // how many more it takes; 0 when it is not kCollecting
  std::vector<uint8_t> missing() const;  // the indices of missing ones, ascending; none when none is needed
  // The last reason for each of the first kMaxRefused holders with a refused key share.
  const std::map<uint64_t, std::string>& refused() const { return refused_; }
  // For people: "2 of 3 key shares of secret 7; refused: of node 9: key share 4 was changed…".
  std::string text() const;

  static constexpr std::size_t kMaxRefused = 64;

 private:
  bool holds(uint8_t index) const;

  Commitment commitment_;
  std::vector<KeyShare> shares_;
  std::map<uint64_t, std::string> refused_;
  uint64_t refused_more_ = 0;  // key shares of unlisted holders
  State state_ = State::kCollecting;
};

}  // namespace bellwether::secret
