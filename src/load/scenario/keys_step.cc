// The keys of steps, their requests, checks and extractions.
#include "load/scenario/key_values.h"

namespace bellwether::scenario::maps {
namespace {

using namespace holds;
using Keys = std::span<const Key>;

// --- http ------------------------------------------------------------------------------------------------------------

constexpr Value kRedirects[] = {{.form = Form::kWhole, .range = {0, 100}}};
constexpr Value kRetryTimes[] = {{.form = Form::kWhole, .range = {0, kMaxRetries}}};
constexpr Value kRetriesOf[] = {{.form = Form::kWhole, .range = {0, kMaxRetries}},
                                {.form = Form::kMap, .map = &kRetries}};
constexpr Value kTlsMap[] = {{.form = Form::kMap, .map = &kTls}};
constexpr Value kAuthMap[] = {{.form = Form::kMap, .map = &kAuth}};
constexpr Value kBasicMap[] = {{.form = Form::kMap, .map = &kBasic}};
constexpr Value kDigestMap[] = {{.form = Form::kMap, .map = &kDigest}};
constexpr Value kOAuth2Map[] = {{.form = Form::kMap, .map = &kOAuth2}};
constexpr Value kOneFormPart[] = {{.form = Form::kText}, {.form = Form::kMap, .map = &kFormPart}};
constexpr Value kFormParts[] = {
    {.form = Form::kText}, {.form = Form::kMap, .map = &kFormPart}, {.form = Form::kList, .elements = kOneFormPart}};
constexpr Value kMultipart[] = {{.form = Form::kNamed, .range = {.low = 1}, .elements = kFormParts}};
constexpr Value kHosts[] = {{.form = Form::kNamed, .range = {0, kMaxHosts}, .elements = kText}};
constexpr Value kLocalIps[] = {{.form = Form::kText},
                               {.form = Form::kList, .range = {1, kMaxLocalIps}, .elements = kText}};
constexpr Value kBody[] = {{.form = Form::kText}, {.form = Form::kMap, .map = &kFileBody}};

constexpr Key kTimeout{
    .name = "timeout", .text = "How long the whole exchange may take, redirects included", .values = kDuration};
constexpr Key kConnectTimeout{.name = "connect_timeout", .text = "How long connecting may take", .values = kDuration};
constexpr Key kTlsTimeout{.name = "tls_timeout", .text = "How long the TLS handshake may take", .values = kDuration};
constexpr Key kFirstByteTimeout{.name = "first_byte_timeout",
                                .text = "How long the first byte of the response may take to come",
                                .values = kDuration};
constexpr Key kRedirectsKey{
    .name = "redirects", .text = "How many redirects are followed; 0: none", .values = kRedirects};
constexpr Key kCompressed{.name = "compressed", .text = "Whether to ask for gzip, brotli and zstd", .values = kBool};
constexpr Key kKeepAlive{.name = "keep_alive",
                         .text = "Whether the connection serves later requests too; else each request opens one",
                         .values = kBool};
constexpr Key kTlsKey{.name = "tls", .text = "Certificates, versions and sessions of TLS", .values = kTlsMap};
constexpr Key kMaxBody{.name = "body_max", .text = "A longer response is an error", .values = kSize};
constexpr Key kAuthKey{.name = "auth", .text = "Credentials of the request", .values = kAuthMap};
constexpr Key kRetriesKey{
    .name = "retries", .text = "How often a request that failed is sent again", .values = kRetriesOf};
constexpr Key kProxyKey{
    .name = "proxy",
    .text = "The proxy: http://USER:PASSWORD@HOST:PORT, none, or environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY)",
    .values = kText};
constexpr Value kStatusesAlone[] = {{.form = Form::kStatuses}};
constexpr Value kExpected[] = {{.form = Form::kStatuses},
                               {.form = Form::kList, .range = {1, kMaxStatusRanges}, .elements = kStatusesAlone}};
constexpr Key kExpectedStatuses{.name = "expected_statuses",
                                .text = "Only responses with these statuses do not count as failed: 404, 3xx, 200-399",
                                .values = kExpected};
constexpr Key kHeaders{
    .name = "headers", .text = "Headers; each replaces the one of that name in the defaults", .values = kPairs};

constexpr std::string_view kSharing[] = {"per_user", "shared"};
constexpr Value kConnections[] = {{.form = Form::kChoice, .choices = kSharing},
                                  {.form = Form::kWhole, .range = {1, kMaxConnections}}};

constexpr Key kHttpDefaultsKeys[] = {
    {.name = "base", .text = "The URL before all URLs that are not absolute", .values = kText},
    {.name = "hosts", .text = "Addresses (IP or IP:PORT) of host names, in place of their look-up", .values = kHosts},
    {.name = "local_ips",
     .text = "Addresses of the machine to connect from, by user in turn: IP, IP-IP or IP/BITS, or several",
     .values = kLocalIps},
    {.name = "connections",
     .text = "Whose they are: per_user; shared by the users of a core; or the most of these to each server",
     .values = kConnections},
    kHeaders,
    kTimeout,
    kConnectTimeout,
    kTlsTimeout,
    kFirstByteTimeout,
    kRedirectsKey,
    kCompressed,
    kKeepAlive,
    kTlsKey,
    kMaxBody,
    kAuthKey,
    kRetriesKey,
    kProxyKey,
    kExpectedStatuses,
};
constexpr Key kHttpKeys[] = {
    {.name = "get", .text = "The URL of a GET request", .values = kText},
    {.name = "post", .text = "The URL of a POST request", .values = kText},
    {.name = "put", .text = "The URL of a PUT request", .values = kText},
    {.name = "patch", .text = "The URL of a PATCH request", .values = kText},
    {.name = "delete", .text = "The URL of a DELETE request", .values = kText},
    {.name = "head", .text = "The URL of a HEAD request", .values = kText},
    {.name = "options", .text = "The URL of an OPTIONS request", .values = kText},
    {.name = "trace", .text = "The URL of a TRACE request", .values = kText},
    {.name = "method", .text = "Any method but CONNECT, with the URL under 'url'", .values = kText, .with = "url"},
    {.name = "url", .text = "The URL, with 'method'", .values = kText, .with = "method"},
    {.name = "query", .text = "Parameters appended to the URL, percent-encoded", .values = kPairs},
    kHeaders,
    {.name = "json", .text = "The body: any YAML, sent as JSON", .values = kJson},
    {.name = "body", .text = "The body: a text, {file: PATH}, or files of a folder", .values = kBody},
    {.name = "form", .text = "The body: fields of a form", .values = kPairs},
    {.name = "multipart",
     .text = "The body: texts and files of a form, sent as multipart/form-data",
     .values = kMultipart},
    kTimeout,
    kConnectTimeout,
    kTlsTimeout,
    kFirstByteTimeout,
    kRedirectsKey,
    kCompressed,
    kKeepAlive,
    kTlsKey,
    kMaxBody,
    kAuthKey,
    kRetriesKey,
    kProxyKey,
    kExpectedStatuses,
};
constexpr std::string_view kMethodKeys[] = {"get",  "post",    "put",   "patch", "delete",
                                            "head", "options", "trace", "method"};

constexpr std::string_view kTlsVersions[] = {"1.2", "1.3"};
constexpr Value kTlsVersion[] = {{.form = Form::kChoice, .choices = kTlsVersions}};
constexpr Key kTlsKeys[] = {
    {.name = "verify", .text = "Whether the server's certificate must be right", .values = kBool},
    {.name = "ca", .text = "File of the authorities to trust, PEM", .values = kText},
    {.name = "certificate",
     .text = "File of the client's certificate and its chain, PEM",
     .values = kText,
     .with = "key"},
    {.name = "key", .text = "File of the certificate's key, PEM", .values = kText, .with = "certificate"},
    {.name = "server_name", .text = "The name to ask for (SNI) and to verify, in place of the host", .values = kText},
    {.name = "min_version", .text = "The lowest version of TLS", .values = kTlsVersion},
    {.name = "max_version", .text = "The highest version of TLS", .values = kTlsVersion},
    {.name = "resume", .text = "Whether a user's new connections resume its last session", .values = kBool},
};
constexpr Key kAuthKeys[] = {
    {.name = "basic", .text = "Name and password, sent at once", .values = kBasicMap},
    {.name = "digest", .text = "Name and password, which answer the server's challenge", .values = kDigestMap},
    {.name = "bearer", .text = "A token, sent at once", .values = kText},
    {.name = "oauth2", .text = "What gets access tokens, and renews them (RFC 6749, 4.4)", .values = kOAuth2Map},
};
constexpr std::string_view kSchemes[] = {"basic", "digest", "bearer", "oauth2"};
constexpr Key kCredentialsKeys[] = {
    {.name = "user", .text = "The name", .values = kText, .required = true},
    {.name = "password", .text = "The password", .values = kText, .required = true},
};
constexpr std::string_view kAuthStyles[] = {"header", "body"};
constexpr Value kAuthStyle[] = {{.form = Form::kChoice, .choices = kAuthStyles}};
constexpr Key kOAuth2Keys[] = {
    {.name = "token_url", .text = "Where tokens are asked for", .values = kText, .required = true},
    {.name = "client_id", .text = "The name of the client", .values = kText, .required = true},
    {.name = "client_secret", .text = "The password of the client", .values = kText, .required = true},
    {.name = "scope", .text = "What the token is to be good for", .values = kText},
    {.name = "audience", .text = "Whom the token is for, where the server asks for that", .values = kText},
    {.name = "auth_style", .text = "Where the client says who it is; the usual one is header", .values = kAuthStyle},
};
constexpr std::string_view kErrors[] = {"error"};
constexpr Value kReason[] = {{.form = Form::kWhole, .range = {100, 999}}, {.form = Form::kChoice, .choices = kErrors}};
constexpr Value kReasons[] = {{.form = Form::kWhole, .range = {100, 999}},
                              {.form = Form::kChoice, .choices = kErrors},
                              {.form = Form::kList, .elements = kReason}};
constexpr Key kRetriesKeys[] = {
    {.name = "times", .text = "How often, after the first time", .values = kRetryTimes, .required = true},
    {.name = "wait", .text = "The pause before each", .values = kDuration},
    {.name = "on", .text = "After which failures: statuses, and 'error' for no response", .values = kReasons},
};
constexpr std::string_view kFilePicks[] = {"sequential", "random"};
constexpr Value kFilePick[] = {{.form = Form::kChoice, .choices = kFilePicks}};
constexpr Key kFileBodyKeys[] = {
    {.name = "file", .text = "A path, relative to the scenario's folder", .values = kText},
    {.name = "directory", .text = "A folder; each request sends one of its files", .values = kText},
    {.name = "glob", .text = "A pattern such as payloads/*.json; each request sends one of the files", .values = kText},
    {.name = "pick", .text = "With 'directory' and 'glob': which file a request sends", .values = kFilePick},
    {.name = "template", .text = "Whether the ${…} in it are filled in", .values = kBool},
};
constexpr Key kFormPartKeys[] = {
    {.name = "file", .text = "The file to send, relative to the scenario's folder", .values = kText},
    {.name = "text", .text = "The content, in place of a file", .values = kText},
    {.name = "filename", .text = "The name of the file for the server; without it that of 'file'", .values = kText},
    {.name = "type", .text = "The media type; of a file without it application/octet-stream", .values = kText},
    {.name = "template", .text = "Whether the ${…} in the file are filled in", .values = kBool},
};
constexpr std::string_view kPartSources[] = {"file", "text"};
constexpr std::string_view kFileSources[] = {"file", "directory", "glob"};

// --- check -----------------------------------------------------------------------------------------------------------

constexpr Value kStatus[] = {{.form = Form::kWhole, .range = {100, 999}}};
constexpr Value kStatuses[] = {{.form = Form::kWhole, .range = {100, 999}},
                               {.form = Form::kList, .range = {.low = 1}, .elements = kStatus}};
constexpr Value kSomeTexts[] = {{.form = Form::kText}, {.form = Form::kList, .range = {.low = 1}, .elements = kText}};
constexpr Value kSizes[] = {{.form = Form::kSize}, {.form = Form::kList, .range = {.low = 1}, .elements = kSize}};
constexpr Value kDurations[] = {{.form = Form::kDuration},
                                {.form = Form::kList, .range = {.low = 1}, .elements = kDuration}};
constexpr Value kScalars[] = {{.form = Form::kScalar}, {.form = Form::kList, .range = {.low = 1}, .elements = kScalar}};

constexpr Value kCount[] = {{.form = Form::kWhole, .range = {0, kMaxCount}}};
constexpr Value kCounts[] = {{.form = Form::kWhole, .range = {0, kMaxCount}},
                             {.form = Form::kList, .range = {.low = 1}, .elements = kCount}};
constexpr Value kCounted[] = {{.form = Form::kWhole, .range = {0, kMaxCount}},
                              {.form = Form::kList, .range = {.low = 1}, .elements = kCount},
                              {.form = Form::kMap, .map = &kCountCheck}};

constexpr std::string_view kEqualsText = "Equal to this, or to one of a list";
constexpr std::string_view kNotText = "Equal to none of these";
constexpr std::string_view kContainsText = "Contains this text, or one of a list";
constexpr std::string_view kMatchesText = "A regular expression in RE2 syntax matches anywhere in the text";

template <const Values& kHeld>
constexpr Key kNumberOperators[] = {
    {.name = "equals", .text = kEqualsText, .values = kHeld}, {.name = "not", .text = kNotText, .values = kHeld},
    {.name = "lt", .text = "Less than", .values = kHeld},     {.name = "lte", .text = "At most", .values = kHeld},
    {.name = "gt", .text = "More than", .values = kHeld},     {.name = "gte", .text = "At least", .values = kHeld},
};
template <const Values& kHeld>
constexpr Key kAllOperators[] = {
    {.name = "equals", .text = kEqualsText, .values = kHeld},
    {.name = "not", .text = kNotText, .values = kHeld},
    {.name = "lt", .text = "Less than", .values = kHeld},
    {.name = "lte", .text = "At most", .values = kHeld},
    {.name = "gt", .text = "More than", .values = kHeld},
    {.name = "gte", .text = "At least", .values = kHeld},
    {.name = "contains", .text = kContainsText, .values = kHeld},
    {.name = "matches", .text = kMatchesText, .values = kHeld},
    {.name = "exists", .text = "Whether there is one", .values = kBool},
    // Not of headers.
    {.name = "count", .text = "How many there are", .values = kCounted},
    // Of CSS only.
    {.name = "attribute", .text = "An attribute of the element in place of its text", .values = kText},
};
constexpr std::size_t kWithoutCount = 9;
constexpr std::size_t kWithCount = 10;
constexpr Values kStatusHeld = kStatuses;
constexpr Values kCountHeld = kCounts;
constexpr Values kSizeHeld = kSizes;
constexpr Values kScalarHeld = kScalars;
constexpr Values kTextHeld = kSomeTexts;
constexpr Key kTextOperators[] = {
    {.name = "equals", .text = kEqualsText, .values = kSomeTexts},
    {.name = "not", .text = kNotText, .values = kSomeTexts},
    {.name = "contains", .text = kContainsText, .values = kSomeTexts},
    {.name = "matches", .text = kMatchesText, .values = kSomeTexts},
};
constexpr Key kDurationOperators[] = {
    {.name = "lt", .text = "Less than", .values = kDurations},
    {.name = "lte", .text = "At most", .values = kDurations},
    {.name = "gt", .text = "More than", .values = kDurations},
    {.name = "gte", .text = "At least", .values = kDurations},
};

constexpr Value kCheckedStatus[] = {{.form = Form::kWhole, .range = {100, 999}},
                                    {.form = Form::kList, .range = {.low = 1}, .elements = kStatus},
                                    {.form = Form::kMap, .map = &kStatusCheck}};
constexpr Value kCheckedBody[] = {{.form = Form::kText},
                                  {.form = Form::kList, .range = {.low = 1}, .elements = kText},
                                  {.form = Form::kMap, .map = &kBodyCheck}};
constexpr Value kCheckedSize[] = {{.form = Form::kSize},
                                  {.form = Form::kList, .range = {.low = 1}, .elements = kSize},
                                  {.form = Form::kMap, .map = &kSizeCheck}};
constexpr Value kCheckedDuration[] = {{.form = Form::kMap, .map = &kDurationCheck}};
constexpr Value kCheckedHeader[] = {{.form = Form::kText},
                                    {.form = Form::kList, .range = {.low = 1}, .elements = kText},
                                    {.form = Form::kMap, .map = &kHeaderCheck}};
constexpr Value kCheckedJson[] = {{.form = Form::kScalar},
                                  {.form = Form::kList, .range = {.low = 1}, .elements = kScalar},
                                  {.form = Form::kMap, .map = &kJsonCheck}};
constexpr Value kConditionOnValue[] = {{.form = Form::kScalar},
                                       {.form = Form::kList, .range = {.low = 1}, .elements = kScalar},
                                       {.form = Form::kMap, .map = &kCondition}};
constexpr Value kCheckedCss[] = {{.form = Form::kText},
                                 {.form = Form::kList, .range = {.low = 1}, .elements = kText},
                                 {.form = Form::kMap, .map = &kCssCheck}};
constexpr Value kCheckedXpath[] = {{.form = Form::kText},
                                   {.form = Form::kList, .range = {.low = 1}, .elements = kText},
                                   {.form = Form::kMap, .map = &kXpathCheck}};
constexpr Value kCheckedSelectors[] = {{.form = Form::kNamed, .elements = kCheckedCss}};
constexpr Value kCheckedExpressions[] = {{.form = Form::kNamed, .elements = kCheckedXpath}};
constexpr Value kCheckedHeaders[] = {{.form = Form::kNamed, .elements = kCheckedHeader}};
constexpr std::string_view kValid[] = {"valid"};
constexpr Value kCheckedJsons[] = {{.form = Form::kNamed, .elements = kCheckedJson},
                                   {.form = Form::kChoice, .choices = kValid}};

// In the order of Subject.
constexpr Key kCheckKeys[] = {
    {.name = "status", .text = "The status code", .values = kCheckedStatus},
    {.name = "body", .text = "The whole body, as text", .values = kCheckedBody},
    {.name = "size", .text = "The length of the body", .values = kCheckedSize},
    {.name = "json", .text = "Values of the JSON body, by path; valid: all of it is JSON", .values = kCheckedJsons},
    {.name = "header", .text = "Headers, by name", .values = kCheckedHeaders},
    {.name = "duration", .text = "The time of the exchange", .values = kCheckedDuration},
    {.name = "url", .text = "The URL after redirects", .values = kCheckedBody},
    {.name = "css", .text = "Elements of an HTML page, by selector", .values = kCheckedSelectors},
    {.name = "xpath", .text = "What XPath 1.0 expressions give", .values = kCheckedExpressions},
};

// --- extract ---------------------------------------------------------------------------------------------------------

constexpr Value kGroup[] = {{.form = Form::kWhole, .range = {0, 99}}};
// In the order of Take.
constexpr std::string_view kTakes[] = {"first", "random", "all", "count"};
constexpr Value kTake[] = {{.form = Form::kChoice, .choices = kTakes}};
constexpr Key kExtractionKeys[] = {
    {.name = "json", .text = "A value of the JSON body, by path", .values = kText},
    {.name = "regex", .text = "The first match of a regular expression in RE2 syntax", .values = kText},
    {.name = "header", .text = "A header, by name", .values = kText},
    {.name = "body", .text = "true: the whole body", .values = kBool},
    {.name = "status", .text = "true: the status code", .values = kBool},
    {.name = "cookie", .text = "The user's cookie of this name", .values = kText},
    {.name = "css", .text = "The first element of an HTML page that fits a selector", .values = kText},
    {.name = "xpath", .text = "What an XPath 1.0 expression gives", .values = kText},
    {.name = "url", .text = "true: the URL after redirects", .values = kBool},
    {.name = "group", .text = "With 'regex': which group of the match; 0: all of it", .values = kGroup},
    {.name = "attribute", .text = "With 'css': an attribute of the element in place of its text", .values = kText},
    {.name = "pick", .text = "With 'json', 'css', 'xpath' and 'header': which of several values", .values = kTake},
    {.name = "default", .text = "Used when the response has no such value", .values = kText},
};
constexpr std::string_view kSources[] = {"json", "regex", "header", "body", "status", "cookie", "css", "xpath", "url"};

// --- steps -----------------------------------------------------------------------------------------------------------

constexpr std::string_view kOnErrors[] = {"continue", "end-iteration", "end-vu", "abort", "skip"};
constexpr Value kOnError[] = {{.form = Form::kChoice, .choices = kOnErrors}};
constexpr Value kHttpMap[] = {{.form = Form::kMap, .map = &kHttp}};
constexpr Value kActionMap[] = {{.form = Form::kMap, .map = &kAction}};
constexpr Value kCheckMap[] = {{.form = Form::kMap, .map = &kCheck}};
constexpr Value kExtractionMap[] = {{.form = Form::kMap, .map = &kExtraction}};
constexpr Value kExtractions[] = {{.form = Form::kNamed, .elements = kExtractionMap, .names = kValueNames}};
constexpr Value kSet[] = {{.form = Form::kNamed, .elements = kText, .names = kValueNames}};

constexpr Value kCodeMap[] = {{.form = Form::kMap, .map = &kCode}};
constexpr Value kArguments[] = {
    {.form = Form::kNamed, .range = {0, kMaxArguments}, .elements = kText, .names = kValueNames}};
constexpr Value kNames[] = {{.form = Form::kText},
                            {.form = Form::kList, .range = {0, kMaxArguments}, .elements = kText}};

constexpr Value kRecords[] = {
    {.form = Form::kNamed, .range = {1, kMaxMetrics}, .elements = kText, .names = kMetricNames}};

constexpr Key kCodeKeys[] = {
    {.name = "file", .text = "The program, relative to the scenario's folder", .values = kText, .required = true},
    {.name = "call", .text = "The function that does the work", .values = kText, .required = true},
    {.name = "args", .text = "What the function is given, as templates", .values = kArguments},
    {.name = "sets", .text = "Values that the function makes for later steps", .values = kNames},
    {.name = "checks", .text = "Checks that the function makes itself", .values = kNames},
    {.name = "requests", .text = "Names under which requests of the function are measured", .values = kNames},
};
constexpr Key kActionKeys[] = {
    {.name = "http", .text = "A request that is not measured", .values = kHttpMap},
    {.name = "lua", .text = "A function of a script, whose requests are not measured", .values = kCodeMap},
    {.name = "native", .text = "A function of a compiled program, whose requests are not measured", .values = kCodeMap},
    {.name = "set", .text = "Gives names to values: {NAME: TEXT}", .values = kSet},
};
constexpr std::string_view kActions[] = {"http", "lua", "native", "set"};
constexpr std::string_view kActionLater[] = {"run", "wait"};
constexpr Value kConditions[] = {
    {.form = Form::kNamed, .range = {1, kMaxConditions}, .elements = kConditionOnValue, .names = R"(.*\$\{.*)"}};
constexpr Value kRepeat[] = {{.form = Form::kWhole, .range = {1, kMaxRepeat}}};
constexpr Value kWeight[] = {{.form = Form::kWhole, .range = {1, kMaxWeight}}};
constexpr Key kStepKeys[] = {
    {.name = "after", .text = "Steps that must have ended before", .values = kTexts},
    {.name = "if",
     .text = "What values must be, such as ${cart.total}; else the step is skipped",
     .values = kConditions},
    {.name = "repeat", .text = "How often it runs, one time after the other", .values = kRepeat},
    {.name = "weight", .text = "In 'choose': how often it is drawn, relative to the others", .values = kWeight},
    {.name = "steps", .text = "Steps in place of work: all of them run", .values = kSteps},
    {.name = "choose", .text = "Steps in place of work: each time one of them is drawn", .values = kSteps},
    {.name = "http", .text = "The request", .values = kHttpMap},
    {.name = "lua", .text = "A function of a script does the step's work", .values = kCodeMap},
    {.name = "native", .text = "A function of a compiled program does the step's work", .values = kCodeMap},
    {.name = "action", .text = "Something to do that is not measured", .values = kActionMap},
    {.name = "check", .text = "What the response must be; counted, without further effect", .values = kCheckMap},
    {.name = "extract", .text = "What is kept of the response, by name", .values = kExtractions},
    {.name = "think", .text = "The pause after the step", .values = kPause},
    {.name = "on_error", .text = "What a failed request does to the rest", .values = kOnError},
    {.name = "tags", .text = "Names and texts by which thresholds take steps together", .values = kTags},
    {.name = "group", .text = "The tag of this name", .values = kText},
    {.name = "metric", .text = "Values for the scenario's own metrics, recorded after the work", .values = kRecords},
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
constinit const Map kStatusCheck{.name = "status_check", .keys = kNumberOperators<kStatusHeld>, .not_empty = true};
constinit const Map kBodyCheck{.name = "body_check", .keys = kTextOperators, .not_empty = true};
constinit const Map kSizeCheck{.name = "size_check", .keys = kNumberOperators<kSizeHeld>, .not_empty = true};
constinit const Map kJsonCheck{
    .name = "json_check", .keys = Keys(kAllOperators<kScalarHeld>).first(kWithCount), .not_empty = true};
constinit const Map kHeaderCheck{
    .name = "header_check", .keys = Keys(kAllOperators<kTextHeld>).first(kWithoutCount), .not_empty = true};
constinit const Map kCssCheck{.name = "css_check", .keys = kAllOperators<kTextHeld>, .not_empty = true};
constinit const Map kXpathCheck{
    .name = "xpath_check", .keys = Keys(kAllOperators<kTextHeld>).first(kWithCount), .not_empty = true};
constinit const Map kCountCheck{.name = "count_check", .keys = kNumberOperators<kCountHeld>, .not_empty = true};
constinit const Map kCondition{
    .name = "condition", .keys = Keys(kAllOperators<kScalarHeld>).first(kWithoutCount), .not_empty = true};
constinit const Map kDurationCheck{.name = "duration_check", .keys = kDurationOperators, .not_empty = true};
constinit const Map kCheck{.name = "check", .keys = kCheckKeys};
constinit const Map kExtraction{.name = "extraction", .keys = kExtractionKeys, .exactly_one = kSources};
constinit const Map kCode{.name = "code", .keys = kCodeKeys};
constinit const Map kAction{.name = "action", .keys = kActionKeys, .later = kActionLater, .exactly_one = kActions};
constinit const Map kStep{
    .name = "step", .keys = kStepKeys, .later = kStepLater, .exactly_one = kWorkKeys, .suffices = "metric"};

}  // namespace bellwether::scenario::maps
