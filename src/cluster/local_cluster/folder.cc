#include "cluster/local_cluster/folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/base/base64.h"
#include "core/base/bytes.h"
#include "core/base/freed.h"
#include "core/base/printable.h"
#include "core/base/result.h"

namespace bellwether::local_cluster {
namespace {

// What a node has to show, as texts (PEM).
struct IssuedTexts {
  std::string certificate;
  std::string key;
};

using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Memory = std::unique_ptr<BIO, Freed<BIO_free_all>>;

// Of one cluster.
struct Authority {
  Key key;
  Certificate certificate;
};

constexpr long kTenYears = 10L * 365 * 86400;
constexpr long kDay = 86400;  // clocks differ

tl::unexpected<Error> failed(const std::string& what) {
  char text[256] = {};
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  return fail(Errc::kIo, "making a certificate: " + what + ": " + text);
}

bool add(X509* to, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(to, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

// Signed by `issuer` with its key; by itself when that is nullptr.
Result<Certificate> make_certificate(const std::string& name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key,
                                     const std::string& alternatives) {
  Certificate made(X509_new());
  uint64_t serial = 0;
  if (made == nullptr || RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) {
    return failed("a serial number");
  }
  X509* const signer = issuer == nullptr ? made.get() : issuer;
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), kTenYears);
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), X509_get_subject_name(signer));
  bool good = add(made.get(), signer, NID_subject_key_identifier, "hash");
  if (issuer == nullptr) {
    good = good && add(made.get(), signer, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add(made.get(), signer, NID_key_usage, "critical,keyCertSign,cRLSign");
  } else {
    good = good && add(made.get(), signer, NID_basic_constraints, "critical,CA:FALSE") &&
           add(made.get(), signer, NID_key_usage, "critical,digitalSignature") &&
           add(made.get(), signer, NID_ext_key_usage, "serverAuth,clientAuth") &&
           add(made.get(), signer, NID_authority_key_identifier, "keyid") &&
           add(made.get(), signer, NID_subject_alt_name, alternatives);
  }
  if (!good) return failed("the names of '" + name + "'");
  if (X509_sign(made.get(), issuer_key, EVP_sha256()) == 0) return failed("signing that of '" + name + "'");
  return made;
}

template <class Write>
Result<std::string> as_pem(Write write) {
  const Memory memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || write(memory.get()) != 1) return failed("writing it");
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

Result<std::string> pem_of(X509* certificate) {
  return as_pem([&](BIO* to) { return PEM_write_bio_X509(to, certificate); });
}

Result<std::string> pem_of(EVP_PKEY* key) {
  return as_pem([&](BIO* to) { return PEM_write_bio_PKCS8PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

// With a new key (P-256), good for ten years. kIo: OpenSSL could not, and why.
Result<Authority> make_authority(const std::string& name) {
  Authority made{Key(EVP_EC_gen("P-256")), nullptr};
  if (made.key == nullptr) return failed("a key");
  BW_TRY(made.certificate, make_certificate(name, made.key.get(), nullptr, made.key.get(), {}));
  return made;
}

// `alternatives` in OpenSSL's notation: "DNS:m1,IP:127.0.0.1,URI:…". Good for as long as the authority.
Result<IssuedTexts> issue(const Authority& by, const std::string& name, const std::string& alternatives) {
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return failed("a key");
  BW_TRY(const auto certificate, make_certificate(name, key.get(), by.certificate.get(), by.key.get(), alternatives));
  IssuedTexts out;
  BW_TRY(out.certificate, pem_of(certificate.get()));
  BW_TRY(out.key, pem_of(key.get()));
  return out;
}

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";
constexpr const char* kRecord = "cluster.json";
constexpr std::size_t kMostRecord = std::size_t{1} << 20;
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kLastWords = 2'000;

tl::unexpected<Error> failed(const std::error_code& code, const std::string& what) {
  return fail_errno(code.value(), what);
}

Status write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "writing '" + path + "'");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd) != 0) return fail_errno(errno, "writing '" + path + "'");
  return {};
}

// Another file takes the place of the one that is there.
Status write_file(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail_errno(errno, "writing '" + path + "'");
  Status done = write_all(fd, text, path);
  ::close(fd);
  if (done && ::rename(fresh.c_str(), path.c_str()) != 0) done = fail_errno(errno, "writing '" + path + "'");
  if (!done) ::unlink(fresh.c_str());
  return done;
}

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "reading '" + path + "'");
  std::string text(most, '\0');
  std::size_t size = 0;
  while (size < most) {
    const ssize_t n = ::read(fd, text.data() + size, most - size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  ::close(fd);
  text.resize(size);
  return text;
}

Result<std::string> new_secret() {
  std::array<unsigned char, kSecretBytes> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return fail(Errc::kIo, "the system gives no randomness");
  return base64_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) + "\n";
}

tl::unexpected<Error> not_ours(const std::string& folder) {
  return fail(Errc::kInvalid,
              "'" + folder + "' has something else in it: name an empty folder, or a new one, with --dir");
}

// Nothing is left behind in a folder of somebody else, not even a lock.
Status make_folder(const std::string& path) {
  std::error_code code;
  fs::create_directories(fs::path(path).parent_path(), code);
  if (code) return failed(code, "making the folder '" + path + "'");
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno(errno, "making the folder '" + path + "'");
  const bool empty = fs::is_empty(path, code);
  if (code) return failed(code, "looking into '" + path + "'");
  const bool ours = empty || fs::exists(path + "/" + kRecord, code) || fs::exists(path + "/" + kLock, code);
  return ours ? Status() : not_ours(path);
}

// All files of one node or client, but for its data.
std::vector<std::string> files_of(const std::string& name) {
  return {name + ".yaml", name + ".pem", name + "-key.pem", name + ".log"};
}

}  // namespace

Folder::~Folder() {
  if (lock_ >= 0) ::close(lock_);
}

Folder::Folder(Folder&& other) noexcept : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

Result<Folder> Folder::open(const std::string& path, Use use) {
  std::error_code code;
  const std::string absolute = fs::absolute(path, code).lexically_normal().string();
  if (code) return failed(code, "'" + path + "'");
  if (use == Use::kMake) {
    BW_RETURN_IF_ERROR(make_folder(absolute));
  } else if (!fs::exists(absolute + "/" + kRecord, code)) {
    return fail(Errc::kNotFound, "there is no local cluster in '" + absolute + "'; `bellwether cluster up` starts one");
  }
  Folder folder(absolute, -1);
  if (use == Use::kLook) return folder;
  folder.lock_ = ::open((absolute + "/" + kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (folder.lock_ < 0) return fail_errno(errno, "locking '" + absolute + "'");
  if (::flock(folder.lock_, LOCK_EX | LOCK_NB) != 0) {
    return fail(Errc::kExists, "another `bellwether cluster up` or `down` is at work with '" + absolute + "'");
  }
  return folder;
}

Result<std::optional<Layout>> Folder::read() const {
  const std::string record = path_ + "/" + kRecord;
  if (::access(record.c_str(), F_OK) != 0) {
    std::error_code code;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_, code)) {
      if (entry.path().filename() == kLock) continue;
      return not_ours(path_);
    }
    if (code) return failed(code, "looking into '" + path_ + "'");
    return std::nullopt;
  }
  BW_TRY(const auto text, read_file(record, kMostRecord));
  auto layout = decode_layout(text);
  if (!layout) return fail(layout.error().code, "'" + record + "' cannot be read: " + layout.error().message);
  return std::optional<Layout>(std::move(*layout));
}

Status Folder::write(const Layout& layout) const { return write_file(path_ + "/" + kRecord, encode_layout(layout)); }

Status Folder::furnish(const Layout& layout) const {
  BW_TRY(const auto secret, new_secret());
  Status done = write_file(path_ + "/secret", secret);
  if (!done) return done;
  if (layout.shape.tls) {
    BW_TRY(const auto authority, make_authority("bellwether local cluster"));
    BW_TRY(const auto certificate, pem_of(authority.certificate.get()));
    done = write_file(path_ + "/ca.pem", certificate);
    const auto certify = [&](const std::string& name, const std::string& names) -> Status {
      BW_TRY(const auto issued, issue(authority, name, names));
      Status written = write_file(path_ + "/" + name + ".pem", issued.certificate);
      if (written) written = write_file(path_ + "/" + name + "-key.pem", issued.key);
      return written;
    };
    for (const LocalNode& node : layout.nodes) {
      if (done) done = certify(node.name, certificate_names(node));
    }
    if (done) done = certify(kClientName, client_certificate_names());
  }
  for (const LocalNode& node : layout.nodes) {
    if (done) done = write_file(settings_of(node.name), local_cluster::settings_of(layout, node, path_));
  }
  if (done) done = write_file(settings_of(kClientName), client_settings(layout, path_));
  return done;
}

Result<bool> Folder::purge(const Layout& layout) const {
  std::error_code code;
  std::vector<std::string> files = {"secret", "ca.pem"};
  for (const std::string& file : files_of(kClientName)) files.push_back(file);
  for (const LocalNode& node : layout.nodes) {
    for (const std::string& file : files_of(node.name)) files.push_back(file);
    fs::remove_all(path_ + "/" + node.name, code);
    if (code) return failed(code, "removing '" + path_ + "/" + node.name + "'");
  }
  // The record last: until then the folder is known to be ours.
  files.insert(files.end(), {kRecord, kLock});
  for (const std::string& file : files) {
    fs::remove(path_ + "/" + file, code);
    if (code) return failed(code, "removing '" + path_ + "/" + file + "'");
  }
  return ::rmdir(path_.c_str()) == 0;
}

std::string Folder::last_words(const LocalNode& node) const {
  const int fd = ::open(log_of(node).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text(kLastWords, '\0');
  const off_t size = ::lseek(fd, 0, SEEK_END);
  const ssize_t n = ::pread(fd, text.data(), text.size(), std::max<off_t>(0, size - static_cast<off_t>(text.size())));
  ::close(fd);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(printable(text.substr(at, end - at)));
    at = end + 1;
  }
  std::string out;
  for (std::size_t i = lines.size() > 4 ? lines.size() - 4 : 0; i < lines.size(); ++i) out += "\n  " + lines[i];
  return out;
}

}  // namespace bellwether::local_cluster
