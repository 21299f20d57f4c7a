// SPDX-License-Identifier: BSD-2-Clause
// Numbers that stand for what a place holds: exclusive-or of them says whether two simulations hold the same.
#pragma once
#include <cstdint>

namespace quintet {

inline uint64_t mix(uint64_t x) {
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}
inline uint64_t mix(uint64_t place, uint64_t value) { return mix(mix(place) + value); }

} // namespace quintet
