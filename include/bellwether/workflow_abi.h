// The interface between bellwether and a compiled workflow: C structs and functions only, so that different compilers
// may make the two. For workflow.h and the loader; authors of workflows do not need it.
//
// No exception crosses it. Texts are views, valid until the call returns unless said otherwise. All calls of one loaded
// copy of a program come from one thread, or from one after the other; each load thread loads a separate copy.
//
// A struct begins with its version and size. The receiver refuses another version and a smaller size. New fields go to
// the end only.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BELLWETHER_ABI_VERSION 3u

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bellwether_text {
  const char* data;
  size_t size;
} bellwether_text;

// Both ends belong to it.
typedef struct bellwether_statuses {
  uint16_t low, high;
} bellwether_statuses;

typedef struct bellwether_request {
  bellwether_text method;
  bellwether_text url;             // absolute, or the part behind the base of the scenario
  const bellwether_text* headers;  // name, value, name, value, …
  size_t header_count;             // of pairs
  bellwether_text body;
  int64_t timeout_ns;  // 0: that of the scenario
  uint8_t has_body;
  uint8_t measured;  // 0: it is sent, and only the number of those left out tells of it
  uint16_t name;  // 0: it counts under its step; else the place of its name in the list that the step declared, from 1
  const bellwether_statuses* expected;  // only responses with them do not count as failed
  size_t expected_count;                // 0: as the step says
} bellwether_request;

typedef struct bellwether_response {
  bellwether_text body;   // good until the next exchange of the step
  bellwether_text error;  // why there was none: "timeout"; empty: there was one. Good for ever
  int64_t took_ns;  // from when it was sent until it was there or failed; of one that was not sent, from its begin
  int32_t status;   // 0: there was none
  uint32_t number;  // of the exchange in its step, from 1
} bellwether_response;

enum {
  BELLWETHER_ABSENT,
  BELLWETHER_NULL,
  BELLWETHER_FALSE,
  BELLWETHER_TRUE,
  BELLWETHER_NUMBER,
  BELLWETHER_TEXT,
  BELLWETHER_COMPOUND
};

// A value of a JSON document.
typedef struct bellwether_value {
  uint32_t kind;
  double number;         // BELLWETHER_NUMBER
  bellwether_text text;  // BELLWETHER_TEXT: valid until the next one is read
} bellwether_value;

// The phases of an exchange in ns; 0: it did not happen, as on a reused connection. The phase in which an exchange
// fails ends there.
typedef struct bellwether_timings {
  int64_t dns, connect, tls, send, wait, receive;
} bellwether_timings;

typedef struct bellwether_run bellwether_run;            // one run of a step, of the host
typedef struct bellwether_prepared bellwether_prepared;  // a request made ready, of the host, as long as the program

// The functions of the host for programs.
typedef struct bellwether_host {
  uint32_t version;
  uint32_t size;
  // NULL: it has to be put together each time.
  const bellwether_prepared* (*prepare)(bellwether_run*, const bellwether_request*);
  // The wish of the step: the last call before begin() or go_on() return. send(): 0 when it cannot be sent, and then
  // the text says why.
  void (*send_prepared)(bellwether_run*, const bellwether_prepared*, int measured, uint16_t name);
  int (*send)(bellwether_run*, const bellwether_request*, bellwether_text* why);
  void (*sleep)(bellwether_run*, int64_t ns);
  void (*end)(bellwether_run*);
  void (*fail)(bellwether_run*, bellwether_text why);

  void (*response)(bellwether_run*, bellwether_response*);  // the last one
  void (*timings)(bellwether_run*, bellwether_timings*);
  int (*header)(bellwether_run*, bellwether_text name, bellwether_text* value);
  // NULL for a malformed path. Valid while the program is loaded.
  const void* (*json_path)(bellwether_run*, bellwether_text);
  void (*json)(bellwether_run*, const void* path, bellwether_value*);
  // By the places in the lists that the step declared. 0: the scenario does not know it.
  int (*check)(bellwether_run*, uint32_t index, int holds);
  int (*set)(bellwether_run*, uint32_t index, bellwether_text value);
  int (*argument)(bellwether_run*, uint32_t index, bellwether_text* value);
  uint64_t (*random)(bellwether_run*);
  // 0: the scenario declares no such metric.
  int (*record)(bellwether_run*, bellwether_text metric, double value);
  // The URL of the last request, after redirects. Valid until the next call.
  bellwether_text (*url)(bellwether_run*);
} bellwether_host;

// The declarations of a program, in their order. Lines are of its source; 0: unknown.
enum {
  BELLWETHER_SCENARIO,  // value: settings of the whole scenario, YAML, whose first line is `line`
  BELLWETHER_WORKFLOW,  // begins one: its name
  BELLWETHER_SETTING,   // of the workflow or step before: name, value as YAML in one line
  BELLWETHER_MORE,      // the same: value: "NAME: VALUE, …", YAML
  BELLWETHER_STEP,      // begins a step of the workflow before: its name
  BELLWETHER_ACTION,    // the same; it sends nothing that counts
  BELLWETHER_AFTER,     // of the step before: the name of another
  BELLWETHER_CHECK,     // the name of a check that it makes
  BELLWETHER_SET,       // the name of a value that it gives
  BELLWETHER_ARGUMENT,  // name, template
  BELLWETHER_REQUEST    // a name under which it measures requests
};
typedef void (*bellwether_tell)(void* to, uint32_t kind, uint32_t line, bellwether_text name, bellwether_text value);

// The table that an artifact exports under the name bellwether_program_table.
typedef struct bellwether_program {
  uint32_t version;
  uint32_t size;
  const char* source;                   // the file that it was compiled from, as it was given to the compiler
  void (*use)(const bellwether_host*);  // before any other call that runs steps; the host outlives the program
  bellwether_text (*describe)(bellwether_tell, void* to);  // why it could not; empty: it did
  // The number of the step "WORKFLOW.STEP"; UINT32_MAX: no such step.
  uint32_t (*find)(bellwether_text name);
  void* (*new_user)(uint32_t number);
  void (*delete_user)(void* user);
  void (*begin_iteration)(void* user, uint64_t iteration);
  // Return when the step wants something, has ended or failed: the program has told the run which. begin() returns the
  // pointer that the host passes to go_on() or abandon(), once, when the step wants something.
  void* (*begin)(uint32_t step, void* user, bellwether_run*);
  void (*go_on)(void* strand);
  void (*abandon)(void* strand);
} bellwether_program;

#ifdef __cplusplus
}
#endif
