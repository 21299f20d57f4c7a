// SPDX-License-Identifier: BSD-2-Clause
// What a simulation holds and what its pins say, cycle by cycle: kept, or held against that of another one.
#pragma once
#include <cstdint>
#include <vector>

namespace quintet {

struct Trail {
	struct Step { uint64_t state, pins; };
	static constexpr uint64_t NEVER = ~uint64_t(0);
	std::vector<Step> steps;                            // of this simulation, where they are kept
	std::vector<Step> other;                            // of the one it is held against
	uint64_t own = 0;                                   // by which the two differ before the first cycle: a register that starts otherwise
	uint64_t first_state = NEVER, last_state = NEVER, first_pins = NEVER;       // cycles in which they differ
	std::vector<uint64_t> wanted;                       // cycles after which registers are copied, ascending
	std::vector<std::vector<uint64_t>> copies;
	bool keeps = false;

	bool looks() const { return keeps || !other.empty() || copies.size() < wanted.size(); }

	// After a cycle; `registers` copies what every register holds.
	template <typename Copy> void step(uint64_t cycle, Step now, Copy registers) {
		if (keeps) steps.push_back(now);
		if (copies.size() < wanted.size() && cycle == wanted[copies.size()]) copies.push_back(registers());
		if (cycle >= other.size()) return;
		if (now.pins != other[cycle].pins && first_pins == NEVER) first_pins = cycle;
		const uint64_t differ = now.state ^ other[cycle].state;
		if (differ == 0 || differ == own) return;
		last_state = cycle;
		if (first_state != NEVER) return;
		first_state = cycle;
		copies.push_back(registers());
	}
};

} // namespace quintet
