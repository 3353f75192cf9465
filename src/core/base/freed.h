// Frees an object of a C library: std::unique_ptr<BIO, Freed<BIO_free_all>>.
#pragma once

namespace bellwether {

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};

}  // namespace bellwether
