// A function of another object, to be called later. The callback does not own the object, which outlives it. Two words,
// copied like a pointer; allocates nothing. For listeners of one or two calls and for single questions; several calls
// that belong together are an interface.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "core/base/check.h"

namespace bellwether {

template <class Signature>
class Callback;

template <class R, class... Args>
class Callback<R(Args...)> {
 public:
  // Set to nothing; calling it is a mistake.
  Callback() = default;
  // A lambda, or another callable, by its name: a temporary would be gone at the call.
  template <class F>
    requires(std::is_object_v<F> && std::is_invocable_r_v<R, F&, Args...> &&
             !std::is_same_v<std::remove_const_t<F>, Callback>)
  Callback(F& function)  // NOLINT(google-explicit-constructor)
      : Callback(std::addressof(function), [](void* object, Args... args) -> R {
          return (*static_cast<F*>(object))(std::forward<Args>(args)...);
        }) {}
  // Calls this method of `object`.
  template <auto method, class T>
  static Callback to(T& object) {
    return Callback(std::addressof(object), [](void* at, Args... args) -> R {
      return (static_cast<T*>(at)->*method)(std::forward<Args>(args)...);
    });
  }

  explicit operator bool() const { return thunk_ != nullptr; }
  // REQUIRES that it is set.
  R operator()(Args... args) const {
    check(thunk_ != nullptr, "a callback is set when it is called");
    return thunk_(object_, std::forward<Args>(args)...);
  }

 private:
  using Thunk = R (*)(void*, Args...);
  Callback(const void* object, Thunk thunk) : object_(const_cast<void*>(object)), thunk_(thunk) {}

  void* object_ = nullptr;
  Thunk thunk_ = nullptr;
};

template <class C, class R, class... Args>
Callback<R(Args...)> callback_of(R (C::*)(Args...));
template <class C, class R, class... Args>
Callback<R(Args...)> callback_of(R (C::*)(Args...) const);
// Callback::to() with the signature of the method: callback_to<&Node::on_note>(node).
template <auto method, class T>
auto callback_to(T& object) {
  return decltype(callback_of(method))::template to<method>(object);
}

}  // namespace bellwether
