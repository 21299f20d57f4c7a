// SPDX-License-Identifier: BSD-2-Clause
// What a gated design (gating.py) compares: nonzero if something has changed.
#pragma once
#include <cstdint>

namespace quintet {

// Commits a register.
template <size_t N> inline uint32_t move(cxxrtl::wire<N> &w) {
	uint32_t changed = 0;
	for (size_t n = 0; n < cxxrtl::value<N>::chunks; n++) {
		changed |= w.curr.data[n] ^ w.next.data[n];
		w.curr.data[n] = w.next.data[n];
	}
	return changed;
}

// Compares an input with what it was.
template <size_t N> inline uint32_t move(const cxxrtl::value<N> &now, cxxrtl::value<N> &was) {
	uint32_t changed = 0;
	for (size_t n = 0; n < cxxrtl::value<N>::chunks; n++) {
		changed |= now.data[n] ^ was.data[n];
		was.data[n] = now.data[n];
	}
	return changed;
}

template <size_t N> inline uint32_t differ(const cxxrtl::value<N> &a, const cxxrtl::value<N> &b) {
	uint32_t changed = 0;
	for (size_t n = 0; n < cxxrtl::value<N>::chunks; n++) changed |= a.data[n] ^ b.data[n];
	return changed;
}

} // namespace quintet
