#include "load/vuser/render.h"

#include <ctime>

#include "core/base/bytes.h"
#include "core/base/encoding.h"

namespace bellwether::vuser::fake {
namespace {

// The lists of made-up values. ASCII without quotes, backslashes and control characters, so that JSON texts and headers
// need no escaping.

constexpr std::string_view kFirstNames[] = {
    "Ada",    "Alan",  "Alice", "Amir",  "Ana",   "Andre", "Anna",   "Ben",   "Bruno", "Carla", "Carlos", "Clara",
    "Daniel", "David", "Diana", "Elena", "Eli",   "Emil",  "Emma",   "Eric",  "Eva",   "Felix", "Fatima", "Finn",
    "Frida",  "Grace", "Hana",  "Hugo",  "Ida",   "Igor",  "Ines",   "Iris",  "Ivan",  "Jakob", "Jana",   "Jonas",
    "Julia",  "Kai",   "Karim", "Lara",  "Laura", "Leo",   "Lina",   "Lucas", "Maria", "Marta", "Max",    "Maya",
    "Mia",    "Milan", "Nadia", "Nina",  "Noah",  "Nora",  "Olga",   "Omar",  "Oscar", "Paula", "Peter",  "Rosa",
    "Samuel", "Sara",  "Sofia", "Theo",  "Tomas", "Vera",  "Victor", "Yara",  "Yusuf", "Zoe"};
constexpr std::string_view kLastNames[] = {
    "Adams",   "Ahmed",   "Allen",  "Baker",  "Bauer",  "Bell",   "Berg",     "Brown",  "Carter",  "Chen",
    "Clark",   "Cohen",   "Cook",   "Costa",  "Cruz",   "Davis",  "Diaz",     "Dubois", "Edwards", "Evans",
    "Fischer", "Fisher",  "Ford",   "Foster", "Garcia", "Gomez",  "Gray",     "Green",  "Gruber",  "Haas",
    "Hall",    "Hansen",  "Harris", "Hill",   "Hughes", "Ito",    "Ivanova",  "Jansen", "Jensen",  "Jones",
    "Kaya",    "Keller",  "Khan",   "Kim",    "King",   "Koch",   "Kowalski", "Lang",   "Larsen",  "Lee",
    "Lewis",   "Lopez",   "Martin", "Meyer",  "Miller", "Moore",  "Morgan",   "Murphy", "Nagy",    "Nguyen",
    "Novak",   "Olsen",   "Park",   "Patel",  "Perez",  "Petrov", "Price",    "Reed",   "Rossi",   "Santos",
    "Sato",    "Schmidt", "Silva",  "Singh",  "Smith",  "Stone",  "Tanaka",   "Taylor", "Turner",  "Vogel",
    "Walker",  "Ward",    "Weber",  "White",  "Wilson", "Wood",   "Wright",   "Yilmaz", "Young"};
constexpr std::string_view kStreets[] = {
    "Maple",  "Oak",    "Cedar",   "Elm",    "Birch",  "Willow", "Chestnut", "Linden", "Park",   "Lake",   "River",
    "Hill",   "Mill",   "Station", "Church", "School", "Market", "Garden",   "Spring", "Sunset", "Meadow", "Forest",
    "Harbor", "Bridge", "Castle",  "Tower",  "Canal",  "North",  "South",    "Main",   "High",   "Long"};
constexpr std::string_view kStreetKinds[] = {"Street", "Avenue", "Road", "Lane", "Drive", "Way", "Square", "Court"};
constexpr std::string_view kCities[] = {
    "Accra",  "Amman",    "Athens",   "Auckland",  "Bangkok",   "Barcelona", "Bergen",     "Berlin",  "Bogota",
    "Boston", "Brussels", "Budapest", "Cairo",     "Calgary",   "Chicago",   "Copenhagen", "Dakar",   "Dublin",
    "Geneva", "Ghent",    "Graz",     "Hamburg",   "Hanoi",     "Helsinki",  "Istanbul",   "Jakarta", "Kyoto",
    "Lagos",  "Lima",     "Lisbon",   "Ljubljana", "London",    "Lyon",      "Madrid",     "Manila",  "Melbourne",
    "Milan",  "Montreal", "Nairobi",  "Naples",    "New York",  "Oslo",      "Paris",      "Porto",   "Prague",
    "Quito",  "Riga",     "Rome",     "Rotterdam", "San Diego", "Santiago",  "Seoul",      "Sofia",   "Stockholm",
    "Sydney", "Tallinn",  "Tokyo",    "Toronto",   "Turin",     "Utrecht",   "Valencia",   "Vienna",  "Warsaw",
    "Zagreb", "Zurich"};
constexpr std::string_view kCountries[] = {
    "Argentina",   "Australia",   "Austria",  "Belgium",     "Brazil",  "Bulgaria",    "Canada",      "Chile",
    "Colombia",    "Croatia",     "Denmark",  "Ecuador",     "Egypt",   "Estonia",     "Finland",     "France",
    "Germany",     "Ghana",       "Greece",   "Hungary",     "Iceland", "India",       "Indonesia",   "Ireland",
    "Italy",       "Japan",       "Jordan",   "Kenya",       "Latvia",  "Mexico",      "Morocco",     "Nepal",
    "Netherlands", "New Zealand", "Nigeria",  "Norway",      "Peru",    "Philippines", "Poland",      "Portugal",
    "Romania",     "Senegal",     "Slovenia", "South Korea", "Spain",   "Sweden",      "Switzerland", "Thailand",
    "Tunisia",     "Uruguay",     "Vietnam"};
constexpr std::string_view kCompanies[] = {"Harbor",     "Summit",      "Northwind", "Bluebird", "Granite",
                                           "Lantern",    "Meridian",    "Orchard",   "Pioneer",  "Redwood",
                                           "Silverline", "Stonebridge", "Sunrise",   "Trident",  "Westfield",
                                           "Clearwater", "Evergreen",   "Falcon",    "Horizon",  "Juniper"};
constexpr std::string_view kTrades[] = {"Logistics", "Systems", "Foods",    "Energy", "Textiles", "Media",
                                        "Software",  "Tools",   "Partners", "Motors", "Optics",   "Travel"};
constexpr std::string_view kJobs[] = {
    "Accountant", "Architect",  "Baker",        "Biologist",    "Bookseller",  "Carpenter", "Chemist",    "Cook",
    "Dentist",    "Designer",   "Driver",       "Editor",       "Electrician", "Engineer",  "Farmer",     "Florist",
    "Gardener",   "Journalist", "Judge",        "Lawyer",       "Librarian",   "Mechanic",  "Musician",   "Nurse",
    "Painter",    "Pharmacist", "Photographer", "Physician",    "Pilot",       "Plumber",   "Programmer", "Sailor",
    "Tailor",     "Teacher",    "Translator",   "Veterinarian", "Waiter",      "Welder"};
constexpr std::string_view kMaterials[] = {"Wooden", "Steel",   "Cotton", "Leather", "Glass",  "Ceramic",
                                           "Rubber", "Woolen",  "Paper",  "Bamboo",  "Copper", "Linen",
                                           "Marble", "Plastic", "Stone",  "Silver"};
constexpr std::string_view kThings[] = {
    "Lamp",     "Chair", "Table",    "Shelf", "Bottle",  "Bowl",   "Cup",    "Plate",  "Knife",  "Spoon",
    "Basket",   "Bag",   "Shirt",    "Hat",   "Jacket",  "Shoes",  "Gloves", "Scarf",  "Clock",  "Mirror",
    "Notebook", "Pen",   "Keyboard", "Bench", "Blanket", "Candle", "Frame",  "Ladder", "Puzzle", "Vase"};
constexpr std::string_view kColors[] = {"red",   "orange", "yellow", "green",     "blue",  "purple", "brown",  "black",
                                        "white", "gray",   "pink",   "teal",      "olive", "navy",   "maroon", "silver",
                                        "gold",  "violet", "indigo", "turquoise", "beige", "crimson"};
constexpr std::string_view kWords[] = {
    "river",  "open",   "light",  "often",  "bridge", "stone",   "paper",    "cloud",  "morning", "letter", "garden",
    "winter", "summer", "window", "table",  "road",   "city",    "mountain", "forest", "island",  "music",  "story",
    "number", "water",  "fire",   "earth",  "wind",   "rain",    "snow",     "sun",    "moon",    "star",   "night",
    "day",    "week",   "year",   "hand",   "voice",  "word",    "page",     "book",   "line",    "circle", "square",
    "corner", "door",   "key",    "clock",  "train",  "boat",    "wheel",    "engine", "market",  "harbor", "field",
    "meadow", "valley", "hill",   "lake",   "ocean",  "shore",   "sand",     "grass",  "tree",    "leaf",   "root",
    "seed",   "flower", "fruit",  "bread",  "salt",   "sugar",   "coffee",   "tea",    "milk",    "cheese", "apple",
    "lemon",  "quiet",  "loud",   "quick",  "slow",   "early",   "late",     "bright", "dark",    "warm",   "cold",
    "soft",   "hard",   "deep",   "high",   "low",    "near",    "far",      "new",    "old",     "small",  "large",
    "simple", "clear",  "strong", "gentle", "honest", "careful", "walk",     "run",    "read",    "write",  "carry",
    "build",  "find",   "keep",   "give",   "take",   "bring",   "hold",     "turn",   "move",    "stay",   "wait",
    "listen", "learn",  "teach",  "begin",  "end",    "follow",  "lead",     "share",  "travel"};

}  // namespace

}  // namespace bellwether::vuser::fake

namespace bellwether::vuser {

namespace {

// Made-up people, places and things, from our own lists (render.cc). They mean and reach no real person: domains,
// telephone numbers and addresses are of ranges that are reserved for examples.

using Words = std::span<const std::string_view>;

void append_one(Words of, Prng& prng, std::string& out) { out += of[prng.below(of.size())]; }

void append_lower(Words of, Prng& prng, std::string& out) {
  for (const char c : of[prng.below(of.size())]) out += ascii_lower(c);
}

void append_name(Prng& prng, std::string& out) {
  append_one(fake::kFirstNames, prng, out);
  out += ' ';
  append_one(fake::kLastNames, prng, out);
}

void append_user_name(Prng& prng, std::string& out) {
  append_lower(fake::kFirstNames, prng, out);
  out += '.';
  append_lower(fake::kLastNames, prng, out);
  append_number(prng.between(1, 999), out);
}

// RFC 2606: example.com and its sisters, and the top level "example".
void append_email(Prng& prng, std::string& out) {
  static constexpr std::string_view kDomains[] = {"@example.com", "@example.net", "@example.org"};
  append_user_name(prng, out);
  append_one(kDomains, prng, out);
}
void append_domain(Prng& prng, std::string& out) {
  append_one(fake::kWords, prng, out);
  out += '-';
  append_one(fake::kWords, prng, out);
  out += ".example";
}

// North American numbers from 555-0100 to 555-0199 are reserved for fiction.
void append_phone(Prng& prng, std::string& out) {
  out += "+1-";
  append_number(prng.between(200, 999), out);
  out += "-555-01";
  append_padded(prng.below(100), 2, out);
}

void append_street(Prng& prng, std::string& out) {
  append_number(prng.between(1, 999), out);
  out += ' ';
  append_one(fake::kStreets, prng, out);
  out += ' ';
  append_one(fake::kStreetKinds, prng, out);
}

void append_two(Words first, Words second, Prng& prng, std::string& out) {
  append_one(first, prng, out);
  out += ' ';
  append_one(second, prng, out);
}

void append_sentence(int64_t words, Prng& prng, std::string& out) {
  const std::size_t start = out.size();
  for (int64_t i = 0; i < words; ++i) {
    if (i > 0) out += ' ';
    append_one(fake::kWords, prng, out);
  }
  out[start] = static_cast<char>(out[start] - 'a' + 'A');  // all of them begin with a small letter
  out += '.';
}

// 198.18.0.0/15 (RFC 2544).
void append_ipv4(Prng& prng, std::string& out) {
  out += "198.";
  append_number(prng.between(18, 19), out);
  for (int i = 0; i < 2; ++i) {
    out += '.';
    append_number(prng.below(256), out);
  }
}

// 2001:db8::/32 (RFC 3849).
void append_ipv6(Prng& prng, std::string& out) {
  out += "2001:db8";
  for (int i = 0; i < 6; ++i) {
    char text[8];
    out += ':';
    out.append(text, std::to_chars(text, text + sizeof text, prng.below(65'536), 16).ptr);
  }
}

void append_raw(const plan::Piece& piece, Prng& prng, std::string& out) {
  using plan::Builtin;
  constexpr int64_t kMillion = 1'000'000;
  switch (piece.builtin) {
    case Builtin::kFakeFirstName: return append_one(fake::kFirstNames, prng, out);
    case Builtin::kFakeLastName: return append_one(fake::kLastNames, prng, out);
    case Builtin::kFakeName: return append_name(prng, out);
    case Builtin::kFakeUserName: return append_user_name(prng, out);
    case Builtin::kFakeEmail: return append_email(prng, out);
    case Builtin::kFakePhone: return append_phone(prng, out);
    case Builtin::kFakeStreet: return append_street(prng, out);
    case Builtin::kFakeCity: return append_one(fake::kCities, prng, out);
    case Builtin::kFakeCountry: return append_one(fake::kCountries, prng, out);
    case Builtin::kFakeZip: return append_padded(prng.below(100'000), 5, out);
    case Builtin::kFakeLatitude: return append_decimal(prng.between(-90 * kMillion, 90 * kMillion), 6, out);
    case Builtin::kFakeLongitude: return append_decimal(prng.between(-180 * kMillion, 180 * kMillion), 6, out);
    case Builtin::kFakeCompany: return append_two(fake::kCompanies, fake::kTrades, prng, out);
    case Builtin::kFakeJob: return append_one(fake::kJobs, prng, out);
    case Builtin::kFakeProduct: return append_two(fake::kMaterials, fake::kThings, prng, out);
    case Builtin::kFakeColor: return append_one(fake::kColors, prng, out);
    case Builtin::kFakeWord: return append_one(fake::kWords, prng, out);
    case Builtin::kFakeSentence: return append_sentence(piece.low, prng, out);
    case Builtin::kFakeDomain: return append_domain(prng, out);
    case Builtin::kFakeUrl:
      out += "https://";
      append_domain(prng, out);
      out += '/';
      return append_one(fake::kWords, prng, out);
    case Builtin::kFakeIpv4: return append_ipv4(prng, out);
    case Builtin::kFakeIpv6: return append_ipv6(prng, out);
    default: check(false, "only made-up values are drawn here");
  }
}

// All are valid in JSON and headers; within a URL some characters must be escaped.
void percent_encode_tail(std::size_t from, std::string& out) {
  const auto is_plain = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; };
  std::size_t others = 0;
  for (std::size_t i = from; i < out.size(); ++i) others += !is_plain(out[i]);
  std::size_t read = out.size();
  out.resize(out.size() + 2 * others);
  for (std::size_t write = out.size(); write > read;) {
    const char c = out[--read];
    if (is_plain(c)) {
      out[--write] = c;
      continue;
    }
    out[--write] = "0123456789ABCDEF"[c & 15];
    out[--write] = "0123456789ABCDEF"[(c >> 4) & 15];
    out[--write] = '%';
  }
}

// REQUIRES a built-in value whose name begins with "fake.".
void append_fake(const plan::Piece& piece, Prng& prng, std::string& out) {
  const std::size_t start = out.size();
  append_raw(piece, prng, out);
  if (piece.escape == plan::Escape::kUrl) percent_encode_tail(start, out);
}

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kJobMessages = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kLettersAndDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

void append_hex(uint64_t bytes, Prng& prng, std::string& out) {
  uint64_t bits = 0;
  for (uint64_t i = 0; i < bytes; ++i) {
    if (i % 8 == 0) bits = prng.next();
    out += kHexDigits[(bits >> 4) & 15];
    out += kHexDigits[bits & 15];
    bits >>= 8;
  }
}

// RFC 9562, version 4.
void append_uuid(Prng& prng, std::string& out) {
  const std::size_t start = out.size();
  append_hex(16, prng, out);
  out[start + 12] = '4';
  out[start + 16] = "89ab"[prng.below(4)];
  for (const std::size_t dash : {20u, 16u, 12u, 8u}) out.insert(start + dash, 1, '-');
}

void append_drawn(std::string_view from, int64_t count, Prng& prng, std::string& out) {
  for (int64_t i = 0; i < count; ++i) out += from[prng.below(from.size())];
}

void append_calendar(int64_t unix_s, const char* form, std::string& out) {
  const auto seconds = static_cast<time_t>(unix_s);
  tm utc{};
  gmtime_r(&seconds, &utc);
  char text[40];
  out.append(text, std::strftime(text, sizeof text, form, &utc));
}

void append_now(WallTime now, std::string& out) {
  append_calendar(now.unix_ns / 1'000'000'000, "%Y-%m-%dT%H:%M:%S.", out);
  append_padded(static_cast<uint64_t>(now.unix_ns / 1'000'000 % 1000), 3, out);
  out += 'Z';
}

bool append_escaped(std::string_view text, plan::Escape escape, std::string& out) {
  switch (escape) {
    case plan::Escape::kNone: out += text; return true;
    case plan::Escape::kJson: append_json_text(text, out); return true;
    case plan::Escape::kUrl: append_percent_encoded(text, out); return true;
    case plan::Escape::kFormName: plan::append_form_name(text, out); return true;
    case plan::Escape::kLink: return plan::append_link(text, out);
    case plan::Escape::kHeader:
      if (text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) return false;
      out += text;
      return true;
    case plan::Escape::kJsonValue:
      if (!plan::is_json_value(text)) return false;
      out += text;
      return true;
  }
  return false;
}

// False: a value of the function is missing, or not what it takes, or the result does not fit its place.
bool append_derived(const plan::Piece& piece, const RenderContext& context, std::string& out) {
  std::string key;
  std::string value;
  if (!render(piece.derived->key, context, key) || !render(piece.derived->value, context, value)) return false;
  const auto made = plan::derive(*piece.derived, key, value);
  return made && append_escaped(*made, piece.escape, out);
}

// False: the element does not fit its place.
bool append_list(const plan::Piece& piece, const RenderContext& context, std::string& out) {
  const auto put = [&](const std::string& text) {
    if (piece.escape == plan::Escape::kLink) return plan::append_link(text, out);
    out += text;
    return true;
  };
  const auto& elements = piece.list->elements;
  if (piece.pick == plan::Pick::kWhole) return put(piece.list->whole);
  const std::size_t index =
      piece.pick == plan::Pick::kRandom ? context.prng.below(elements.size()) : (context.vu - 1) % elements.size();
  return elements[index] && put(*elements[index]);
}

}  // namespace

void append_builtin(const plan::Piece& piece, const RenderContext& context, std::string& out) {
  using plan::Builtin;
  constexpr int64_t kDayS = 24 * 3600;
  Prng& prng = context.prng;
  const int64_t unix_s = context.now.unix_ns / 1'000'000'000;
  switch (piece.builtin) {
    case Builtin::kVu: append_number(context.vu, out); break;
    case Builtin::kIteration: append_number(context.iteration, out); break;
    case Builtin::kNow: append_now(context.now, out); break;
    case Builtin::kNowMs: append_number(context.now.unix_ns / 1'000'000, out); break;
    case Builtin::kNowS: append_number(unix_s, out); break;
    case Builtin::kDate: append_calendar(unix_s + piece.low * kDayS, "%Y-%m-%d", out); break;
    case Builtin::kUuid: append_uuid(prng, out); break;
    case Builtin::kRandomInt: append_number(prng.between(piece.low, piece.high), out); break;
    case Builtin::kRandomFloat: append_decimal(prng.between(piece.low, piece.high), piece.decimals, out); break;
    case Builtin::kRandomString: append_drawn(kLettersAndDigits, piece.low, prng, out); break;
    case Builtin::kRandomAlpha: append_drawn(kJobMessages, piece.low, prng, out); break;
    case Builtin::kRandomDigits: append_drawn(kDigits, piece.low, prng, out); break;
    case Builtin::kRandomHex: append_hex(static_cast<uint64_t>(piece.low), prng, out); break;
    default: append_fake(piece, prng, out); break;
  }
}

bool tells_time(plan::Builtin builtin) {
  using plan::Builtin;
  return builtin == Builtin::kNow || builtin == Builtin::kNowMs || builtin == Builtin::kNowS ||
         builtin == Builtin::kDate;
}

bool render(const plan::Template& source, const RenderContext& context, std::string& out) {
  for (const plan::Piece& piece : source.pieces) {
    switch (piece.kind) {
      case plan::Piece::Kind::kLiteral: out += piece.literal; break;
      case plan::Piece::Kind::kBuiltin: {
        const std::size_t begin = out.size();
        append_builtin(piece, context, out);
        const bool typed = piece.escape == plan::Escape::kJsonValue;
        if (typed && !plan::is_json_value(std::string_view(out).substr(begin))) return false;
        break;
      }
      case plan::Piece::Kind::kGiven: return false;  // no workflow provided it
      case plan::Piece::Kind::kList:
        if (!append_list(piece, context, out)) return false;
        break;
      case plan::Piece::Kind::kSlot:
        if (!context.values.has(piece.slot)) return false;
        if (!append_escaped(context.values.get(piece.slot), piece.escape, out)) return false;
        break;
      case plan::Piece::Kind::kDerived:
        if (!append_derived(piece, context, out)) return false;
        break;
      case plan::Piece::Kind::kQueryStart: out += plan::query_start(out); break;
    }
  }
  return true;
}

bool mentions_time(const plan::Template& source) {
  for (const plan::Piece& piece : source.pieces) {
    if (piece.kind == plan::Piece::Kind::kBuiltin && tells_time(piece.builtin)) return true;
    const plan::Derived* const derived = piece.derived.get();
    if (derived != nullptr && (mentions_time(derived->key) || mentions_time(derived->value))) return true;
  }
  return false;
}

}  // namespace bellwether::vuser
