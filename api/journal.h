#pragma once

extern const char *const journal_types[];
