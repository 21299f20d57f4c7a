// SPDX-License-Identifier: BSD-2-Clause
// Harness for any design: ports by name, clock cycles, nothing else.
#include "design.cc"
#include "simulation.hpp"

struct Generic : quintet::Simulation {
	void step(uint64_t count) {
		while (count-- && error.empty()) tick([] {});
	}
};

#define HARNESS Generic
#include "exports.hpp"

extern "C" void quintet_step(Generic *h, uint64_t count) { h->enter(), h->step(count); }
