// A run as a JUnit report, which systems of continuous integration show beside the tests of a program: the verdict,
// each threshold and each check as a test case.
#pragma once

#include <string>

#include "load/report/result_file.h"

namespace bellwether::report {

// XML as the schema of the Jenkins xUnit plugin has it (testsuites, testsuite, testcase, failure, error), UTF-8.
// A threshold that was not met and a check that failed is a failure. What could not be judged, for want of samples or
// because a part of the run was lost, is an error.
std::string to_junit(const ResultFile& run);

}  // namespace bellwether::report
