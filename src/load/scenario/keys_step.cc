// The keys of steps, their requests, checks and extractions.
#include <algorithm>
#include <array>

#include "load/scenario/key_values.h"

namespace bellwether::scenario::maps {
namespace {

using namespace holds;
using Keys = std::span<const Key>;

// --- http ------------------------------------------------------------------------------------------------------------

constexpr Value kRetriesOf[] = {{.form = Form::kWhole, .range = {0, kMaxRetries}},
                                {.form = Form::kMap, .map = &kRetries}};
constexpr Value kOneFormPart[] = {{.form = Form::kText}, {.form = Form::kMap, .map = &kFormPart}};
constexpr Value kFormParts[] = {
    {.form = Form::kText}, {.form = Form::kMap, .map = &kFormPart}, {.form = Form::kList, .elements = kOneFormPart}};
constexpr Value kMultipart[] = {{.form = Form::kNamed, .range = {.low = 1}, .elements = kFormParts}};
constexpr Value kHosts[] = {{.form = Form::kNamed, .range = {0, kMaxHosts}, .elements = kText}};
constexpr Value kLocalIps[] = {{.form = Form::kText},
                               {.form = Form::kList, .range = {1, kMaxLocalIps}, .elements = kText}};
constexpr Value kBody[] = {{.form = Form::kText}, {.form = Form::kMap, .map = &kFileBody}};

constexpr Value kStatusesAlone[] = {{.form = Form::kStatuses}};
constexpr Value kExpected[] = {{.form = Form::kStatuses},
                               {.form = Form::kList, .range = {1, kMaxStatusRanges}, .elements = kStatusesAlone}};
constexpr Key kHeaders{"headers", "Headers; each replaces the one of that name in the defaults", kPairs};
// Of requests and of their defaults, at the end of both.
constexpr Key kSettingsKeys[] = {
    {"timeout", "How long the whole exchange may take, redirects included", kDuration},
    {"connect_timeout", "How long connecting may take", kDuration},
    {"tls_timeout", "How long the TLS handshake may take", kDuration},
    {"first_byte_timeout", "How long the first byte of the response may take to come", kDuration},
    {"redirects", "How many redirects are followed; 0: none", kWholeIn<0, 100>},
    {"compressed", "Whether to ask for gzip, brotli and zstd", kBool},
    {"keep_alive", "Whether the connection serves later requests too; else each request opens one", kBool},
    {"tls", "Certificates, versions and sessions of TLS", kMapOf<kTls>},
    {"body_max", "A longer response is an error", kSize},
    {"auth", "Credentials of the request", kMapOf<kAuth>},
    {"retries", "How often a request that failed is sent again", kRetriesOf},
    {"proxy", "The proxy: http://USER:PASSWORD@HOST:PORT, none, or environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY)",
     kText},
    {"expected_statuses", "Only responses with these statuses do not count as failed: 404, 3xx, 200-399", kExpected},
};

constexpr std::string_view kSharing[] = {"per_user", "shared"};
constexpr Value kConnections[] = {{.form = Form::kChoice, .choices = kSharing},
                                  {.form = Form::kWhole, .range = {1, kMaxConnections}}};

constexpr Key kOwnOfDefaults[] = {
    {"base", "The URL before all URLs that are not absolute", kText},
    {"hosts", "Addresses (IP or IP:PORT) of host names, in place of their look-up", kHosts},
    {"local_ips", "Addresses of the machine to connect from, by user in turn: IP, IP-IP or IP/BITS, or several",
     kLocalIps},
    {"connections", "Whose they are: per_user; shared by the users of a core; or the most of these to each server",
     kConnections},
    kHeaders,
};
constexpr Key kOwnOfHttp[] = {
    {"get", "The URL of a GET request", kText},
    {"post", "The URL of a POST request", kText},
    {"put", "The URL of a PUT request", kText},
    {"patch", "The URL of a PATCH request", kText},
    {"delete", "The URL of a DELETE request", kText},
    {"head", "The URL of a HEAD request", kText},
    {"options", "The URL of an OPTIONS request", kText},
    {"trace", "The URL of a TRACE request", kText},
    beside("url", {"method", "Any method but CONNECT, with the URL under 'url'", kText}),
    beside("method", {"url", "The URL, with 'method'", kText}),
    {"query", "Parameters appended to the URL, percent-encoded", kPairs},
    kHeaders,
    {"json", "The body: any YAML, sent as JSON", kJson},
    {"body", "The body: a text, {file: PATH}, or files of a folder", kBody},
    {"form", "The body: fields of a form", kPairs},
    {"multipart", "The body: texts and files of a form, sent as multipart/form-data", kMultipart},
};
template <std::size_t kOwn>
consteval auto with_settings(const Key (&own)[kOwn]) {
  std::array<Key, kOwn + std::size(kSettingsKeys)> out;
  std::copy(std::begin(kSettingsKeys), std::end(kSettingsKeys), std::copy(own, own + kOwn, out.begin()));
  return out;
}
constexpr auto kHttpDefaultsKeys = with_settings(kOwnOfDefaults);
constexpr auto kHttpKeys = with_settings(kOwnOfHttp);
constexpr std::string_view kMethodKeys[] = {"get",  "post",    "put",   "patch", "delete",
                                            "head", "options", "trace", "method"};

constexpr std::string_view kTlsVersions[] = {"1.2", "1.3"};
constexpr Key kTlsKeys[] = {
    {"verify", "Whether the server's certificate must be right", kBool},
    {"ca", "File of the authorities to trust, PEM", kText},
    beside("key", {"certificate", "File of the client's certificate and its chain, PEM", kText}),
    beside("certificate", {"key", "File of the certificate's key, PEM", kText}),
    {"server_name", "The name to ask for (SNI) and to verify, in place of the host", kText},
    {"min_version", "The lowest version of TLS", kChoiceOf<kTlsVersions>},
    {"max_version", "The highest version of TLS", kChoiceOf<kTlsVersions>},
    {"resume", "Whether a user's new connections resume its last session", kBool},
};
constexpr Key kAuthKeys[] = {
    {"basic", "Name and password, sent at once", kMapOf<kBasic>},
    {"digest", "Name and password, which answer the server's challenge", kMapOf<kDigest>},
    {"bearer", "A token, sent at once", kText},
    {"oauth2", "What gets access tokens, and renews them (RFC 6749, 4.4)", kMapOf<kOAuth2>},
};
constexpr std::string_view kSchemes[] = {"basic", "digest", "bearer", "oauth2"};
constexpr Key kCredentialsKeys[] = {
    required({"user", "The name", kText}),
    required({"password", "The password", kText}),
};
constexpr std::string_view kAuthStyles[] = {"header", "body"};
constexpr Key kOAuth2Keys[] = {
    required({"token_url", "Where tokens are asked for", kText}),
    required({"client_id", "The name of the client", kText}),
    required({"client_secret", "The password of the client", kText}),
    {"scope", "What the token is to be good for", kText},
    {"audience", "Whom the token is for, where the server asks for that", kText},
    {"auth_style", "Where the client says who it is; the usual one is header", kChoiceOf<kAuthStyles>},
};
constexpr std::string_view kErrors[] = {"error"};
constexpr Value kReason[] = {{.form = Form::kWhole, .range = {100, 999}}, {.form = Form::kChoice, .choices = kErrors}};
constexpr Value kReasons[] = {{.form = Form::kWhole, .range = {100, 999}},
                              {.form = Form::kChoice, .choices = kErrors},
                              {.form = Form::kList, .elements = kReason}};
constexpr Key kRetriesKeys[] = {
    required({"times", "How often, after the first time", kWholeIn<0, kMaxRetries>}),
    {"wait", "The pause before each", kDuration},
    {"on", "After which failures: statuses, and 'error' for no response", kReasons},
};
constexpr std::string_view kFilePicks[] = {"sequential", "random"};
constexpr Key kFileBodyKeys[] = {
    {"file", "A path, relative to the scenario's folder", kText},
    {"directory", "A folder; each request sends one of its files", kText},
    {"glob", "A pattern such as payloads/*.json; each request sends one of the files", kText},
    {"pick", "With 'directory' and 'glob': which file a request sends", kChoiceOf<kFilePicks>},
    {"template", "Whether the ${…} in it are filled in", kBool},
};
constexpr Key kFormPartKeys[] = {
    {"file", "The file to send, relative to the scenario's folder", kText},
    {"text", "The content, in place of a file", kText},
    {"filename", "The name of the file for the server; without it that of 'file'", kText},
    {"type", "The media type; of a file without it application/octet-stream", kText},
    {"template", "Whether the ${…} in the file are filled in", kBool},
};
constexpr std::string_view kPartSources[] = {"file", "text"};
constexpr std::string_view kFileSources[] = {"file", "directory", "glob"};

// --- check -----------------------------------------------------------------------------------------------------------

constexpr Value kStatus[] = {{.form = Form::kWhole, .range = {100, 999}}};
constexpr Value kCount[] = {{.form = Form::kWhole, .range = {0, kMaxCount}}};
// One of them, a list of them, or one of the maps.
template <const auto& kOne, const Map*... kMaps>
constexpr Value kSome[] = {
    kOne[0], {.form = Form::kList, .range = {.low = 1}, .elements = kOne}, {.form = Form::kMap, .map = kMaps}...};

constexpr std::string_view kEqualsText = "Equal to this, or to one of a list";
constexpr std::string_view kNotText = "Equal to none of these";
constexpr std::string_view kContainsText = "Contains this text, or one of a list";
constexpr std::string_view kMatchesText = "A regular expression in RE2 syntax matches anywhere in the text";

// The operators of numbers are the first of them.
template <const auto& kOne>
constexpr Key kAllOperators[] = {
    {"equals", kEqualsText, kSome<kOne>},
    {"not", kNotText, kSome<kOne>},
    {"lt", "Less than", kSome<kOne>},
    {"lte", "At most", kSome<kOne>},
    {"gt", "More than", kSome<kOne>},
    {"gte", "At least", kSome<kOne>},
    {"contains", kContainsText, kSome<kOne>},
    {"matches", kMatchesText, kSome<kOne>},
    {"exists", "Whether there is one", kBool},
    // Not of headers.
    {"count", "How many there are", kSome<kCount, &kCountCheck>},
    // Of CSS only.
    {"attribute", "An attribute of the element in place of its text", kText},
};
constexpr std::size_t kOfNumbers = 6;
constexpr std::size_t kWithoutCount = 9;
constexpr std::size_t kWithCount = 10;
constexpr Key kTextOperators[] = {
    {"equals", kEqualsText, kSome<kText>},
    {"not", kNotText, kSome<kText>},
    {"contains", kContainsText, kSome<kText>},
    {"matches", kMatchesText, kSome<kText>},
};
constexpr Value kCheckedSelectors[] = {{.form = Form::kNamed, .elements = kSome<kText, &kCssCheck>}};
constexpr Value kCheckedExpressions[] = {{.form = Form::kNamed, .elements = kSome<kText, &kXpathCheck>}};
constexpr Value kCheckedHeaders[] = {{.form = Form::kNamed, .elements = kSome<kText, &kHeaderCheck>}};
constexpr std::string_view kValid[] = {"valid"};
constexpr Value kCheckedJsons[] = {{.form = Form::kNamed, .elements = kSome<kScalar, &kJsonCheck>},
                                   {.form = Form::kChoice, .choices = kValid}};

// In the order of Subject.
constexpr Key kCheckKeys[] = {
    {"status", "The status code", kSome<kStatus, &kStatusCheck>},
    {"body", "The whole body, as text", kSome<kText, &kBodyCheck>},
    {"size", "The length of the body", kSome<kSize, &kSizeCheck>},
    {"json", "Values of the JSON body, by path; valid: all of it is JSON", kCheckedJsons},
    {"header", "Headers, by name", kCheckedHeaders},
    {"duration", "The time of the exchange", kMapOf<kDurationCheck>},
    {"url", "The URL after redirects", kSome<kText, &kBodyCheck>},
    {"css", "Elements of an HTML page, by selector", kCheckedSelectors},
    {"xpath", "What XPath 1.0 expressions give", kCheckedExpressions},
};

// --- extract ---------------------------------------------------------------------------------------------------------

// In the order of Take.
constexpr std::string_view kTakes[] = {"first", "random", "all", "count"};
constexpr Key kExtractionKeys[] = {
    {"json", "A value of the JSON body, by path", kText},
    {"regex", "The first match of a regular expression in RE2 syntax", kText},
    {"header", "A header, by name", kText},
    {"body", "true: the whole body", kBool},
    {"status", "true: the status code", kBool},
    {"cookie", "The user's cookie of this name", kText},
    {"css", "The first element of an HTML page that fits a selector", kText},
    {"xpath", "What an XPath 1.0 expression gives", kText},
    {"url", "true: the URL after redirects", kBool},
    {"group", "With 'regex': which group of the match; 0: all of it", kWholeIn<0, 99>},
    {"attribute", "With 'css': an attribute of the element in place of its text", kText},
    {"pick", "With 'json', 'css', 'xpath' and 'header': which of several values", kChoiceOf<kTakes>},
    {"default", "Used when the response has no such value", kText},
};
constexpr std::string_view kSources[] = {"json", "regex", "header", "body", "status", "cookie", "css", "xpath", "url"};

// --- steps -----------------------------------------------------------------------------------------------------------

constexpr std::string_view kOnErrors[] = {"continue", "end-iteration", "end-vu", "abort", "skip"};
constexpr Value kExtractions[] = {{.form = Form::kNamed, .elements = kMapOf<kExtraction>, .names = kValueNames}};
constexpr Value kSet[] = {{.form = Form::kNamed, .elements = kText, .names = kValueNames}};

constexpr Value kArguments[] = {
    {.form = Form::kNamed, .range = {0, kMaxArguments}, .elements = kText, .names = kValueNames}};
constexpr Value kNames[] = {{.form = Form::kText},
                            {.form = Form::kList, .range = {0, kMaxArguments}, .elements = kText}};

constexpr Value kRecords[] = {
    {.form = Form::kNamed, .range = {1, kMaxMetrics}, .elements = kText, .names = kMetricNames}};

constexpr Key kCodeKeys[] = {
    required({"file", "The program, relative to the scenario's folder", kText}),
    required({"call", "The function that does the work", kText}),
    {"args", "What the function is given, as templates", kArguments},
    {"sets", "Values that the function makes for later steps", kNames},
    {"checks", "Checks that the function makes itself", kNames},
    {"requests", "Names under which requests of the function are measured", kNames},
};
constexpr Key kActionKeys[] = {
    {"http", "A request that is not measured", kMapOf<kHttp>},
    {"lua", "A function of a script, whose requests are not measured", kMapOf<kCode>},
    {"native", "A function of a compiled program, whose requests are not measured", kMapOf<kCode>},
    {"set", "Gives names to values: {NAME: TEXT}", kSet},
};
constexpr std::string_view kActions[] = {"http", "lua", "native", "set"};
constexpr std::string_view kActionLater[] = {"run", "wait"};
constexpr Value kConditions[] = {{.form = Form::kNamed,
                                  .range = {1, kMaxConditions},
                                  .elements = kSome<kScalar, &kCondition>,
                                  .names = R"(.*\$\{.*)"}};
constexpr Key kStepKeys[] = {
    {"after", "Steps that must have ended before", kTexts},
    {"if", "What values must be, such as ${cart.total}; else the step is skipped", kConditions},
    {"repeat", "How often it runs, one time after the other", kWholeIn<1, kMaxRepeat>},
    {"weight", "In 'choose': how often it is drawn, relative to the others", kWholeIn<1, kMaxWeight>},
    {"steps", "Steps in place of work: all of them run", kSteps},
    {"choose", "Steps in place of work: each time one of them is drawn", kSteps},
    {"http", "The request", kMapOf<kHttp>},
    {"lua", "A function of a script does the step's work", kMapOf<kCode>},
    {"native", "A function of a compiled program does the step's work", kMapOf<kCode>},
    {"action", "Something to do that is not measured", kMapOf<kAction>},
    {"check", "What the response must be; counted, without further effect", kMapOf<kCheck>},
    {"extract", "What is kept of the response, by name", kExtractions},
    {"think", "The pause after the step", kPause},
    {"on_error", "What a failed request does to the rest", kChoiceOf<kOnErrors>},
    {"tags", "Names and texts by which thresholds take steps together", kTags},
    {"group", "The tag of this name", kText},
    {"metric", "Values for the scenario's own metrics, recorded after the work", kRecords},
};
constexpr std::string_view kStepLater[] = {"http2", "http3", "graphql", "grpc", "websocket", "sql", "condition"};
constexpr std::string_view kWorkKeys[] = {"http", "lua", "native", "action", "steps", "choose"};

}  // namespace

constinit const Map kHttpDefaults{.name = "http_defaults", .keys = kHttpDefaultsKeys};
constinit const Map kHttp{.name = "http", .keys = kHttpKeys, .exactly_one = kMethodKeys};
constinit const Map kTls{.name = "tls", .keys = kTlsKeys};
constinit const Map kAuth{.name = "auth", .keys = kAuthKeys, .exactly_one = kSchemes};
constinit const Map kBasic{.name = "basic", .keys = kCredentialsKeys};
constinit const Map kDigest{.name = "digest", .keys = kCredentialsKeys};
constinit const Map kOAuth2{.name = "oauth2", .keys = kOAuth2Keys};
constinit const Map kRetries{.name = "retries", .keys = kRetriesKeys};
constinit const Map kFileBody{.name = "file_body", .keys = kFileBodyKeys, .exactly_one = kFileSources};
constinit const Map kFormPart{.name = "form_part", .keys = kFormPartKeys, .exactly_one = kPartSources};
constinit const Map kStatusCheck{
    .name = "status_check", .keys = Keys(kAllOperators<kStatus>).first(kOfNumbers), .not_empty = true};
constinit const Map kBodyCheck{.name = "body_check", .keys = kTextOperators, .not_empty = true};
constinit const Map kSizeCheck{
    .name = "size_check", .keys = Keys(kAllOperators<kSize>).first(kOfNumbers), .not_empty = true};
constinit const Map kJsonCheck{
    .name = "json_check", .keys = Keys(kAllOperators<kScalar>).first(kWithCount), .not_empty = true};
constinit const Map kHeaderCheck{
    .name = "header_check", .keys = Keys(kAllOperators<kText>).first(kWithoutCount), .not_empty = true};
constinit const Map kCssCheck{.name = "css_check", .keys = kAllOperators<kText>, .not_empty = true};
constinit const Map kXpathCheck{
    .name = "xpath_check", .keys = Keys(kAllOperators<kText>).first(kWithCount), .not_empty = true};
constinit const Map kCountCheck{
    .name = "count_check", .keys = Keys(kAllOperators<kCount>).first(kOfNumbers), .not_empty = true};
constinit const Map kCondition{
    .name = "condition", .keys = Keys(kAllOperators<kScalar>).first(kWithoutCount), .not_empty = true};
constinit const Map kDurationCheck{
    .name = "duration_check", .keys = Keys(kAllOperators<kDuration>).subspan(2, 4), .not_empty = true};
constinit const Map kCheck{.name = "check", .keys = kCheckKeys};
constinit const Map kExtraction{.name = "extraction", .keys = kExtractionKeys, .exactly_one = kSources};
constinit const Map kCode{.name = "code", .keys = kCodeKeys};
constinit const Map kAction{.name = "action", .keys = kActionKeys, .later = kActionLater, .exactly_one = kActions};
constinit const Map kStep{
    .name = "step", .keys = kStepKeys, .later = kStepLater, .exactly_one = kWorkKeys, .suffices = "metric"};

}  // namespace bellwether::scenario::maps
