// Command lines of curl: its options, and what they make of a request.
#include <algorithm>
#include <cmath>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/yaml/section.h"
#include "load/import/curl_options.h"
#include "load/import/request.h"
#include "load/import/shell.h"
#include "load/scenario/section.h"

namespace bellwether::imports {
namespace {

// The requests between two --next: the same options for each URL.
struct CurlCall {
  Request request;
  std::vector<Word> urls;
  std::string data;
  std::vector<Part> parts;  // of a multipart body
  bool has_data = false;
  bool is_digest = false;
  bool gets = false;
  bool follows = false;
  bool globs = true;
  bool has_method = false;
  bool is_json = false;
  bool uploads = false;
  bool has_type = false;             // -H names the Content-Type, maybe to remove it
  bool has_accept = false;           // the same of Accept
  std::optional<std::string> agent;  // these yield to a header of the same name
  std::optional<std::string> referer;
};

class CurlReader {
 public:
  explicit CurlReader(Draft& draft) : draft_(draft) {}

  void read(const std::vector<Word>& words) {
    call_ = {};
    bool only_urls = false;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const Word& word = words[i];
      if (only_urls || !word.text.starts_with('-') || word.text == "-") {
        call_.urls.push_back(word);
      } else if (word.text == "--") {
        only_urls = true;
      } else if (word.text.starts_with("--")) {
        i = read_long(words, i);
      } else {
        i = read_letters(words, i);
      }
    }
    finish_call(words.front().mark);
  }

 private:
  void warn(std::string text) { draft_.warnings.push_back(std::move(text)); }

  // Both return the index of the last word that they used.
  std::size_t read_long(const std::vector<Word>& words, std::size_t i) {
    const std::string_view name = std::string_view(words[i].text).substr(2);
    const auto* const option = std::ranges::find(kCurlOptions, name, &CurlOption::name);
    if (option == std::end(kCurlOptions)) {
      warn(fmt::format("the option {} of curl is left out: it is unknown", yaml::in_quotes(words[i].text)));
      return i;
    }
    return take(*option, words, i, {});
  }

  std::size_t read_letters(const std::vector<Word>& words, std::size_t i) {
    const std::string_view text = words[i].text;
    for (std::size_t at = 1; at < text.size(); ++at) {
      const auto* const option = std::ranges::find(kCurlOptions, text[at], &CurlOption::letter);
      if (option == std::end(kCurlOptions)) {
        warn(fmt::format("the option '-{}' of curl is left out: it is unknown", printable(text.substr(at, 1))));
      } else if (option->has_value) {
        return take(*option, words, i, text.substr(at + 1));
      } else {
        act(*option, {{}, words[i].mark});
      }
    }
    return i;
  }

  // `value`: the rest of the word, or empty when the value is the next word.
  std::size_t take(const CurlOption& option, const std::vector<Word>& words, std::size_t i, std::string_view value) {
    if (!option.has_value) {
      act(option, {{}, words[i].mark});
    } else if (!value.empty()) {
      act(option, {std::string(value), words[i].mark});
    } else if (i + 1 < words.size()) {
      act(option, words[++i]);
    } else {
      draft_.diagnostics.add(words[i].mark, {.message = fmt::format("the option --{} has no value", option.name)});
    }
    return i;
  }

  void act(const CurlOption& option, const Word& value) {
    Request& request = call_.request;
    switch (option.act) {
      case CurlAct::kNothing: break;
      case CurlAct::kWarn: warn(fmt::format("the option --{} of curl is left out", option.name)); break;
      case CurlAct::kMethod:
        request.method = value.text;
        call_.has_method = true;
        break;
      case CurlAct::kHeader: read_header(value); break;
      case CurlAct::kData:
      case CurlAct::kDataRaw:
      case CurlAct::kDataBinary:
      case CurlAct::kDataUrl:
      case CurlAct::kJson: read_data(option.act, value.text); break;
      case CurlAct::kForm:
      case CurlAct::kFormString: read_part(value.text, option.act == CurlAct::kForm); break;
      case CurlAct::kUser: {
        std::string_view password = value.text;
        const std::string user(take_until(password, ':'));
        request.auth = Auth{"basic", user, std::string(password)};
        break;
      }
      case CurlAct::kDigest: call_.is_digest = true; break;
      case CurlAct::kBearer: request.auth = Auth{"bearer", {}, value.text}; break;
      case CurlAct::kCookie:
        if (value.text.find('=') != std::string::npos) {
          add_header(request, "Cookie", value.text);
        } else {
          warn(fmt::format("the cookies of the file {} are left out", yaml::in_quotes(value.text)));
        }
        break;
      case CurlAct::kAgent: call_.agent = value.text; break;
      case CurlAct::kReferer: call_.referer = value.text.substr(0, value.text.find(";auto")); break;
      case CurlAct::kInsecure: request.options.push_back({"tls", "{verify: false}"}); break;
      case CurlAct::kCaFile:
        request.options.push_back({"tls", fmt::format("{{ca: {}}}", yaml::flow_text(value.text))});
        break;
      case CurlAct::kCompressed: request.options.push_back({"compressed", "true"}); break;
      case CurlAct::kFollow: call_.follows = true; break;
      case CurlAct::kRedirects: {
        const auto most = parse_u64(value.text);
        if (most && *most <= 100) request.options.push_back({"redirects", fmt::format("{}", *most)});
        break;
      }
      case CurlAct::kTimeout: read_seconds("timeout", value); break;
      case CurlAct::kConnectTimeout: read_seconds("connect_timeout", value); break;
      case CurlAct::kUrl: call_.urls.push_back(value); break;
      case CurlAct::kGet: call_.gets = true; break;
      case CurlAct::kHead:
        if (!call_.has_method) request.method = "HEAD";
        break;
      case CurlAct::kProxy: read_proxy(value.text); break;
      case CurlAct::kUpload:
        if (!call_.has_method) request.method = "PUT";
        if (value.text == "-" || value.text == ".") {
          warn("the upload of standard input is left out: name a file");
          break;
        }
        call_.uploads = true;
        request.body.kind = Body::Kind::kFile;
        request.body.text = value.text;
        break;
      case CurlAct::kNext: finish_call(value.mark); break;
      case CurlAct::kNoGlob: call_.globs = false; break;
    }
  }

  // "Name: value"; "Name;" has an empty value; "Name:" removes a header that curl would send by itself.
  void read_header(const Word& word) {
    const std::string& text = word.text;
    if (text.starts_with('@'))
      return warn(fmt::format("the headers of the file {} are left out", yaml::in_quotes(text)));
    const std::size_t end = text.find(':');
    const bool is_empty = end == std::string::npos && text.ends_with(';');
    const std::string_view name = trim(std::string_view(text).substr(0, is_empty ? text.size() - 1 : end));
    if (end == std::string::npos && !is_empty) {
      return draft_.diagnostics.add(
          word.mark, {.message = "this is no header", .found = yaml::in_quotes(text), .expected = "'Name: value'"});
    }
    call_.has_type = call_.has_type || iequals(name, "content-type");
    call_.has_accept = call_.has_accept || iequals(name, "accept");
    const std::string_view value = is_empty ? std::string_view() : trim(std::string_view(text).substr(end + 1));
    if (!is_empty && value.empty()) return;
    if (can_send(draft_, name)) add_header(call_.request, name, std::string(value));
  }

  void read_data(CurlAct act, std::string_view text) {
    std::string data(text);
    if (call_.request.body.kind == Body::Kind::kFile) return leave_out_file(text);
    if (act == CurlAct::kDataUrl) {
      const std::size_t end = text.find_first_of("=@");
      if (end != std::string_view::npos && text[end] == '@') return leave_out_file(text);
      const std::size_t begin = end == std::string_view::npos ? 0 : end + 1;
      const auto written = plain(text.substr(begin));
      data = begin > 1 ? std::string(text.substr(0, begin)) : std::string();
      // The value of a variable is known only to the run.
      if (written) {
        append_percent_encoded(*written, data);
      } else {
        data += text.substr(begin);
      }
    } else if (act != CurlAct::kDataRaw && text.starts_with('@')) {
      if (call_.has_data || text == "@-" || call_.gets) return leave_out_file(text);
      call_.request.body.kind = Body::Kind::kFile;
      call_.request.body.text = text.substr(1);
      if (act == CurlAct::kData) warn(fmt::format("{} is sent with its line ends, which curl removes", data.substr(1)));
    }
    if (act == CurlAct::kJson) {
      call_.is_json = true;
    } else if (call_.has_data) {
      call_.data += '&';
    }
    if (call_.request.body.kind != Body::Kind::kFile) call_.data += data;
    call_.has_data = true;
  }

  void leave_out_file(std::string_view text) {
    warn(fmt::format("the data {} is left out: only a file that is the whole body can be imported",
                     yaml::in_quotes(text)));
    call_.has_data = true;
  }

  // A part of a multipart body. `reads`: @FILE is a file, and ";type=" and ";filename=" may follow the value.
  void read_part(std::string_view text, bool reads) {
    const std::size_t equals = text.find('=');
    Part part{.field = {literal(text.substr(0, equals)), {}}};
    std::string_view value = equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
    if (reads) {
      part.is_file = value.starts_with('@');
      const auto take = [&](std::string_view key, std::string& into) {
        const std::size_t begin = value.find(key);
        if (begin == std::string_view::npos) return std::string_view::npos;
        std::string_view rest = value.substr(begin + key.size());
        const bool in_quotes = rest.starts_with('"');
        if (in_quotes) rest.remove_prefix(1);
        into = literal(rest.substr(0, rest.find(in_quotes ? '"' : ';')));
        return begin;
      };
      const std::size_t type = take(";type=", part.type);
      const std::size_t filename = take(";filename=", part.filename);
      value = value.substr(0, std::min({value.size(), type, filename}));
      if (part.is_file) value.remove_prefix(1);
      if (value == "-" || value.starts_with('<')) {
        return warn(fmt::format("the form field {} is left out: its content is not in the command",
                                yaml::in_quotes(text.substr(0, equals))));
      }
    }
    part.field.value = literal(value);
    call_.parts.push_back(std::move(part));
  }

  void read_seconds(const char* key, const Word& word) {
    const auto seconds = parse_double(word.text);
    if (!seconds || !(*seconds >= 0 && *seconds < 1e6)) {
      return draft_.diagnostics.add(word.mark,
                                    {.message = "this is no number of seconds", .found = yaml::in_quotes(word.text)});
    }
    const auto millis = static_cast<int64_t>(std::llround(*seconds * 1000));
    if (millis > 0) call_.request.options.push_back({key, format_duration(Duration::millis(millis))});
  }

  void read_proxy(const std::string& text) {
    const std::size_t scheme = text.find("://");
    if (scheme != std::string::npos && !text.starts_with("http://")) {
      return warn(fmt::format("the proxy {} is left out: only proxies of http:// can be used",
                              yaml::in_quotes(text.substr(0, scheme))));
    }
    call_.request.options.push_back({"proxy", scheme == std::string::npos ? "http://" + text : text});
  }

  void finish_call(yaml::Mark mark) {
    Request& request = call_.request;
    if (call_.urls.empty()) {
      draft_.diagnostics.add(mark, {.message = "the command has no URL", .expected = "curl … URL"});
    }
    if (call_.agent && header_of(request, "user-agent") == nullptr) add_header(request, "User-Agent", *call_.agent);
    if (call_.referer && header_of(request, "referer") == nullptr) add_header(request, "Referer", *call_.referer);
    // Those of -H win, wherever they stand.
    if (call_.is_json && !call_.has_type) add_header(request, "Content-Type", "application/json");
    if (call_.is_json && !call_.has_accept) add_header(request, "Accept", "application/json");
    const bool has_redirects = std::ranges::find(request.options, "redirects", &Field::name) != request.options.end();
    if (!call_.follows) {
      std::erase_if(request.options, [](const Field& option) { return option.name == "redirects"; });
      request.options.push_back({"redirects", "0"});
    } else if (!has_redirects) {
      request.options.push_back({"redirects", "50"});
    }
    keep_last_options();
    if (!call_.parts.empty()) {
      call_.has_data = call_.has_type = true;
      set_parts(request, std::move(call_.parts));
    }
    const bool sends = call_.has_data && !call_.gets;
    if (sends && !call_.has_method && request.method == "GET") request.method = "POST";
    if (sends && !call_.has_type && header_of(request, "content-type") == nullptr) {
      add_header(request, "Content-Type", "application/x-www-form-urlencoded");
    }
    if (sends && request.body.kind == Body::Kind::kNone) set_body(request, call_.data);
    for (const Word& url : call_.urls) add_request(url);
    call_ = {};
  }

  // A later option replaces an earlier one; the two of `tls` become one.
  void keep_last_options() {
    Fields& options = call_.request.options;
    Fields last;
    for (const Field& option : options) {
      const auto known = std::ranges::find(last, option.name, &Field::name);
      if (known == last.end()) {
        last.push_back(option);
      } else if (option.name == "tls" && known->value != option.value) {
        known->value = fmt::format("{}, {}", known->value.substr(0, known->value.size() - 1), option.value.substr(1));
      } else {
        known->value = option.value;
      }
    }
    options = std::move(last);
  }

  void add_request(const Word& url) {
    Request request = call_.request;
    request.url = url.text;
    const bool has_scheme = request.url.find("://") < request.url.find_first_of("/?#") || request.url.starts_with("${");
    if (!has_scheme) request.url.insert(0, "http://");
    if (iequals(std::string_view(request.url).substr(0, 4), "http")) {
      std::transform(request.url.begin(), request.url.begin() + 4, request.url.begin(), ascii_lower);
    } else if (!request.url.starts_with("${")) {
      draft_.diagnostics.add(url.mark, {.message = "this URL cannot be imported",
                                        .found = yaml::in_quotes(url.text),
                                        .expected = "http://HOST/PATH or https://HOST/PATH"});
    }
    const auto written = plain(url.text);
    if (call_.globs && written && written->find_first_of("{[") < written->find('?')) {
      warn(fmt::format("{} is one URL here; curl makes several of [ ] and {{ }}", yaml::in_quotes(*written)));
    }
    clean_url(request);
    if (call_.uploads && request.url.ends_with('/') && request.url.find('?') == std::string::npos) {
      const std::string name = request.body.text.substr(request.body.text.rfind('/') + 1);
      const auto literal_name = plain(name);
      // The value of a variable is known only to the run.
      if (literal_name) append_percent_encoded(*literal_name, request.url);
      if (!literal_name) request.url += name;
    }
    if (request.auth && call_.is_digest) request.auth->scheme = "digest";
    if (header_of(request, "authorization") != nullptr) request.auth.reset();
    if (call_.gets && call_.has_data && !call_.data.empty()) {
      request.url += (request.url.find('?') == std::string::npos ? "?" : "&") + call_.data;
    }
    if (!scenario::is_http_token(request.method) || iequals(request.method, "connect")) {
      draft_.diagnostics.add(url.mark,
                             {.message = "the method cannot be imported", .found = yaml::in_quotes(request.method)});
    }
    draft_.requests.push_back(std::move(request));
  }

  Draft& draft_;
  CurlCall call_;
};

}  // namespace

Import from_curl(const Source& source, const Choices& choices) {
  Draft draft(source);
  if (!is_utf8(source.text) || source.text.find('\0') != std::string::npos) {
    draft.diagnostics.add({}, {.message = "this is no text", .expected = "a command line in UTF-8"});
    return finish(draft, choices);
  }
  const Commands commands = split_commands(source.text, draft.diagnostics);
  CurlReader reader(draft);
  for (const std::vector<Word>& words : commands.lines) {
    // A prompt may stand before the command.
    const bool has_prompt = words.size() > 1 && (words.front().text == "$" || words.front().text == "%");
    const std::vector<Word> command(words.begin() + (has_prompt ? 1 : 0), words.end());
    const std::string& program = command.front().text;
    if (program == "curl" || program.ends_with("/curl")) {
      reader.read(command);
    } else {
      draft.warnings.push_back(fmt::format("{} is left out: it is no curl command", yaml::in_quotes(program)));
    }
  }
  if (draft.diagnostics.empty() && draft.requests.empty()) {
    draft.diagnostics.add({1, 1}, {.message = "there is no curl command", .expected = "curl [OPTION…] URL"});
  }
  for (const std::string& name : commands.variables) draft.need(name, std::nullopt, "the shell variable " + name);
  return finish(draft, choices);
}

}  // namespace bellwether::imports
