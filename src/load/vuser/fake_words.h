// The lists of made-up values. ASCII without quotes, backslashes and control characters, so that JSON texts and headers
// need no escaping.
#pragma once

#include <string_view>

namespace bellwether::vuser::fake {

inline constexpr std::string_view kFirstNames[] = {
    "Ada",    "Alan",  "Alice", "Amir",  "Ana",   "Andre", "Anna",   "Ben",   "Bruno", "Carla", "Carlos", "Clara",
    "Daniel", "David", "Diana", "Elena", "Eli",   "Emil",  "Emma",   "Eric",  "Eva",   "Felix", "Fatima", "Finn",
    "Frida",  "Grace", "Hana",  "Hugo",  "Ida",   "Igor",  "Ines",   "Iris",  "Ivan",  "Jakob", "Jana",   "Jonas",
    "Julia",  "Kai",   "Karim", "Lara",  "Laura", "Leo",   "Lina",   "Lucas", "Maria", "Marta", "Max",    "Maya",
    "Mia",    "Milan", "Nadia", "Nina",  "Noah",  "Nora",  "Olga",   "Omar",  "Oscar", "Paula", "Peter",  "Rosa",
    "Samuel", "Sara",  "Sofia", "Theo",  "Tomas", "Vera",  "Victor", "Yara",  "Yusuf", "Zoe"};
inline constexpr std::string_view kLastNames[] = {
    "Adams",   "Ahmed",   "Allen",  "Baker",  "Bauer",  "Bell",   "Berg",     "Brown",  "Carter",  "Chen",
    "Clark",   "Cohen",   "Cook",   "Costa",  "Cruz",   "Davis",  "Diaz",     "Dubois", "Edwards", "Evans",
    "Fischer", "Fisher",  "Ford",   "Foster", "Garcia", "Gomez",  "Gray",     "Green",  "Gruber",  "Haas",
    "Hall",    "Hansen",  "Harris", "Hill",   "Hughes", "Ito",    "Ivanova",  "Jansen", "Jensen",  "Jones",
    "Kaya",    "Keller",  "Khan",   "Kim",    "King",   "Koch",   "Kowalski", "Lang",   "Larsen",  "Lee",
    "Lewis",   "Lopez",   "Martin", "Meyer",  "Miller", "Moore",  "Morgan",   "Murphy", "Nagy",    "Nguyen",
    "Novak",   "Olsen",   "Park",   "Patel",  "Perez",  "Petrov", "Price",    "Reed",   "Rossi",   "Santos",
    "Sato",    "Schmidt", "Silva",  "Singh",  "Smith",  "Stone",  "Tanaka",   "Taylor", "Turner",  "Vogel",
    "Walker",  "Ward",    "Weber",  "White",  "Wilson", "Wood",   "Wright",   "Yilmaz", "Young"};
inline constexpr std::string_view kStreets[] = {
    "Maple",  "Oak",    "Cedar",   "Elm",    "Birch",  "Willow", "Chestnut", "Linden", "Park",   "Lake",   "River",
    "Hill",   "Mill",   "Station", "Church", "School", "Market", "Garden",   "Spring", "Sunset", "Meadow", "Forest",
    "Harbor", "Bridge", "Castle",  "Tower",  "Canal",  "North",  "South",    "Main",   "High",   "Long"};
inline constexpr std::string_view kStreetKinds[] = {"Street", "Avenue", "Road",   "Lane",
                                                    "Drive",  "Way",    "Square", "Court"};
inline constexpr std::string_view kCities[] = {
    "Accra",  "Amman",    "Athens",   "Auckland",  "Bangkok",   "Barcelona", "Bergen",     "Berlin",  "Bogota",
    "Boston", "Brussels", "Budapest", "Cairo",     "Calgary",   "Chicago",   "Copenhagen", "Dakar",   "Dublin",
    "Geneva", "Ghent",    "Graz",     "Hamburg",   "Hanoi",     "Helsinki",  "Istanbul",   "Jakarta", "Kyoto",
    "Lagos",  "Lima",     "Lisbon",   "Ljubljana", "London",    "Lyon",      "Madrid",     "Manila",  "Melbourne",
    "Milan",  "Montreal", "Nairobi",  "Naples",    "New York",  "Oslo",      "Paris",      "Porto",   "Prague",
    "Quito",  "Riga",     "Rome",     "Rotterdam", "San Diego", "Santiago",  "Seoul",      "Sofia",   "Stockholm",
    "Sydney", "Tallinn",  "Tokyo",    "Toronto",   "Turin",     "Utrecht",   "Valencia",   "Vienna",  "Warsaw",
    "Zagreb", "Zurich"};
inline constexpr std::string_view kCountries[] = {
    "Argentina",   "Australia",   "Austria",  "Belgium",     "Brazil",  "Bulgaria",    "Canada",      "Chile",
    "Colombia",    "Croatia",     "Denmark",  "Ecuador",     "Egypt",   "Estonia",     "Finland",     "France",
    "Germany",     "Ghana",       "Greece",   "Hungary",     "Iceland", "India",       "Indonesia",   "Ireland",
    "Italy",       "Japan",       "Jordan",   "Kenya",       "Latvia",  "Mexico",      "Morocco",     "Nepal",
    "Netherlands", "New Zealand", "Nigeria",  "Norway",      "Peru",    "Philippines", "Poland",      "Portugal",
    "Romania",     "Senegal",     "Slovenia", "South Korea", "Spain",   "Sweden",      "Switzerland", "Thailand",
    "Tunisia",     "Uruguay",     "Vietnam"};
inline constexpr std::string_view kCompanies[] = {"Harbor",     "Summit",      "Northwind", "Bluebird", "Granite",
                                                  "Lantern",    "Meridian",    "Orchard",   "Pioneer",  "Redwood",
                                                  "Silverline", "Stonebridge", "Sunrise",   "Trident",  "Westfield",
                                                  "Clearwater", "Evergreen",   "Falcon",    "Horizon",  "Juniper"};
inline constexpr std::string_view kTrades[] = {"Logistics", "Systems", "Foods",    "Energy", "Textiles", "Media",
                                               "Software",  "Tools",   "Partners", "Motors", "Optics",   "Travel"};
inline constexpr std::string_view kJobs[] = {
    "Accountant", "Architect",  "Baker",        "Biologist",    "Bookseller",  "Carpenter", "Chemist",    "Cook",
    "Dentist",    "Designer",   "Driver",       "Editor",       "Electrician", "Engineer",  "Farmer",     "Florist",
    "Gardener",   "Journalist", "Judge",        "Lawyer",       "Librarian",   "Mechanic",  "Musician",   "Nurse",
    "Painter",    "Pharmacist", "Photographer", "Physician",    "Pilot",       "Plumber",   "Programmer", "Sailor",
    "Tailor",     "Teacher",    "Translator",   "Veterinarian", "Waiter",      "Welder"};
inline constexpr std::string_view kMaterials[] = {"Wooden", "Steel",   "Cotton", "Leather", "Glass",  "Ceramic",
                                                  "Rubber", "Woolen",  "Paper",  "Bamboo",  "Copper", "Linen",
                                                  "Marble", "Plastic", "Stone",  "Silver"};
inline constexpr std::string_view kThings[] = {
    "Lamp",     "Chair", "Table",    "Shelf", "Bottle",  "Bowl",   "Cup",    "Plate",  "Knife",  "Spoon",
    "Basket",   "Bag",   "Shirt",    "Hat",   "Jacket",  "Shoes",  "Gloves", "Scarf",  "Clock",  "Mirror",
    "Notebook", "Pen",   "Keyboard", "Bench", "Blanket", "Candle", "Frame",  "Ladder", "Puzzle", "Vase"};
inline constexpr std::string_view kColors[] = {
    "red",  "orange", "yellow", "green",  "blue",   "purple", "brown",  "black",  "white",     "gray",  "pink",
    "teal", "olive",  "navy",   "maroon", "silver", "gold",   "violet", "indigo", "turquoise", "beige", "crimson"};
inline constexpr std::string_view kWords[] = {
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

}  // namespace bellwether::vuser::fake
