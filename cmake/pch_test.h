#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pch_src.h"
